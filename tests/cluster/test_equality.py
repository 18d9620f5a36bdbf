"""Every model trains on several processes as plain Keras does on one, in float64 within 1e-9."""

from __future__ import annotations

import pickle

import pytest

from tests.cluster.groups import workers
from tests.equality.cases import CASES
from tests.equality.test_models import plain
from tests.once import once
from tests.oracle import assert_same

PROGRAM = ["-m", "tests.cluster.training_program"]
MANY = {4: ("cnn_batchnorm", "random_layers"), 8: ("mlp",)}


def trained(folder, cases, devices):
    said = workers([*PROGRAM, str(folder), *(case.name for case in cases)], devices=devices)
    assert all(f"on {sum(devices)} replicas" in each for each in said)


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory):
    """Train everything on two processes, with two devices and one."""
    return once(tmp_path_factory, "two-processes", lambda out: trained(out, CASES, [2, 1]))


def check(case, folder, count, factory):
    for index in range(count):
        outcome = pickle.loads((folder / f"{case.name}-{index}.pickle").read_bytes())
        assert_same(outcome, plain(factory, case), rtol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("float64")
def test_two_processes_equal_one(case, two_processes, tmp_path_factory):
    check(case, two_processes, 2, tmp_path_factory)


@pytest.mark.parametrize("count", sorted(MANY))
@pytest.mark.usefixtures("float64")
def test_many_processes_equal_one(count, tmp_path, tmp_path_factory):
    cases = [case for case in CASES if case.name in MANY[count]]
    trained(tmp_path, cases, [1] * count)
    for case in cases:
        check(case, tmp_path, count, tmp_path_factory)
