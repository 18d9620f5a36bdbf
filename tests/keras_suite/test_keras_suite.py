"""Keras' own trainer tests, every model under a 4-device MirroredStrategy.

They are run twice, plainly and under the strategy; what passes plainly must pass under it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import keras

HERE = Path(__file__).parent
SUITE = Path(keras.__file__).parent / "src" / "trainers" / "trainer_test.py"

EXCEPTIONS = {
    "test_fit_eval_flow_for_jax_model_weights": "asserts that Keras empties the variables while it "
    "trains; under manyhands a callback finds the latest weights in them",
}


def passed(tmp_path: Path, *, under_strategy: bool) -> set[str]:
    report = tmp_path / f"{under_strategy}.xml"
    plugin = ["-p", "tests.keras_suite.under_strategy"] if under_strategy else []
    environment = dict(
        os.environ, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="4"
    )
    environment["PYTHONPATH"] = str(HERE.parents[1])
    command = [sys.executable, "-m", "pytest", "-c", HERE / "pytest.ini", SUITE, *plugin]
    subprocess.run(
        [*map(str, command), f"--junitxml={report}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    cases = ET.parse(report).iter("testcase")
    return {case.get("name") for case in cases if len(case) == 0}


def test_what_passes_in_plain_keras_passes_under_a_strategy(tmp_path):
    plainly = passed(tmp_path, under_strategy=False)
    under = passed(tmp_path, under_strategy=True)
    assert len(plainly) > 100, "Keras' suite did not run"
    assert plainly - under == set(EXCEPTIONS), "exceptions are listed with their reasons, and true"
