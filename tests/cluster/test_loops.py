"""Custom loops and data of every kind mean the same on several processes as on one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.cluster.groups import last_json, outputs, start, workers
from tests.once import once

PROGRAM = ["-m", "tests.cluster.loop_program"]
KINDS = [
    *("arrays", "dataset", "mapped", "batched map", "lines", "generator", "sequence"),
    *("distributed", "loop"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Run the program alone, then on two processes, with two devices and one."""

    def run(folder):
        (alone,) = outputs([start([*PROGRAM, str(folder)])], 240)
        both = workers([*PROGRAM, str(folder)], devices=[2, 1])
        told = [last_json(text) for text in (alone, *both)]
        (folder / "told.json").write_text(json.dumps(told))

    told = json.loads((once(tmp_path_factory, "loops", run) / "told.json").read_text())
    return told[0], told[1:]


class TestTwoProcesses:
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_of_data_gives_the_same_losses(self, told, kind):
        alone, both = told
        for each in both:
            np.testing.assert_allclose(each["told"][kind], alone["told"][kind], rtol=1e-9)

    def test_own_files_and_own_datasets_give_every_row_once(self, told):
        alone, both = told
        for each in both:
            for name, total in alone["unordered"].items():
                np.testing.assert_allclose(each["unordered"][name], total, rtol=1e-9)
        assert both[0]["fit_file"] == both[1]["fit_file"]

    def test_rows_of_other_processes_are_not_read(self, told):
        alone, both = told
        first, second = (set(each["read"]) for each in both)
        assert first | second == set(alone["read"])
        assert len(first & second) <= 3  # what is looked at to see what a row is

    def test_a_process_sees_the_values_of_its_own_replicas(self, told):
        _, both = told
        assert [each["local"] for each in both] == [[0.0, 1.0], [2.0]]
        assert [each["sum"] for each in both] == [3.0, 3.0]

    def test_results_are_gathered(self, told):
        alone, both = told
        assert all(np.isclose(each["gathered"], alone["gathered"]) for each in both)
