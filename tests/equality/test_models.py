"""Every model trains on many devices as on one, in float64 within 1e-9."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.equality.cases import APPLICATION, CASES
from tests.once import once
from tests.oracle import Outcome, assert_same, train


def plain(factory, case) -> Outcome:
    """Give what one device gives, computed once for all workers."""

    def make(folder: Path) -> None:
        (folder / "outcome.pickle").write_bytes(pickle.dumps(train(case, None)))

    folder = once(factory, f"plain-{case.name}", make)
    return pickle.loads((folder / "outcome.pickle").read_bytes())


@pytest.mark.parametrize("num_devices", [3, 8])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("float64")
def test_many_devices_equal_one(case, num_devices, tmp_path_factory):
    assert_same(train(case, num_devices), plain(tmp_path_factory, case), rtol=1e-9)


@pytest.mark.usefixtures("float64")
def test_an_application_of_keras_equals_one_device():
    assert_same(train(APPLICATION, 4), train(APPLICATION, None), rtol=1e-9)
