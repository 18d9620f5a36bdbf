"""Every model trains on several processes as plain Keras does on one, in float64 within 1e-9."""

from __future__ import annotations

import pickle

import pytest

from tests.cluster.groups import workers
from tests.equality.cases import BY_NAME, CASES
from tests.oracle import assert_same, train

PROGRAM = ["-m", "tests.cluster.training_program"]


@pytest.fixture(scope="session")
def two_processes(tmp_path_factory):
    """Train everything on two processes, with two devices and one."""
    out = tmp_path_factory.mktemp("two")
    said = workers([*PROGRAM, str(out), *(case.name for case in CASES)], devices=[2, 1])
    assert all("on 3 replicas" in each for each in said)
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.xdist_group("cluster-equality")
@pytest.mark.usefixtures("float64")
def test_two_processes_equal_one(case, two_processes):
    plain = train(case, None)
    for index in range(2):
        outcome = pickle.loads((two_processes / f"{case.name}-{index}.pickle").read_bytes())
        assert_same(outcome, plain, rtol=1e-9)


@pytest.mark.usefixtures("float64")
def test_four_processes_equal_one(tmp_path):
    workers([*PROGRAM, str(tmp_path), "classifier", "image_net"], devices=[1, 1, 1, 1])
    for name in ("classifier", "image_net"):
        plain = train(BY_NAME[name], None)
        for index in range(4):
            outcome = pickle.loads((tmp_path / f"{name}-{index}.pickle").read_bytes())
            assert_same(outcome, plain, rtol=1e-9)
