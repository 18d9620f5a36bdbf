"""Every model trains on many devices as on one, in float64 within 1e-9."""

from __future__ import annotations

import functools

import pytest

from tests.equality.cases import APPLICATION, BY_NAME, CASES
from tests.oracle import Outcome, assert_same, train


@functools.cache
def plain(name: str) -> Outcome:
    return train(BY_NAME[name], None)


@pytest.mark.parametrize("num_devices", [3, 8])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("float64")
def test_many_devices_equal_one(case, num_devices):
    assert_same(train(case, num_devices), plain(case.name), rtol=1e-9)


@pytest.mark.usefixtures("float64")
def test_an_application_of_keras_equals_one_device():
    assert_same(train(APPLICATION, 4), train(APPLICATION, None), rtol=1e-9)
