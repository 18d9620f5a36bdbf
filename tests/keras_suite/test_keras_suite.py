"""Keras' own trainer tests, every model under a 4-device MirroredStrategy.

What passes in plain Keras must pass under it; so what fails is run once more, plainly.
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
    "TestTrainer::test_fit_eval_flow_for_jax_model_weights": "asserts that Keras empties the "
    "variables while it trains; under manyhands a callback finds the latest weights in them",
}


def run(tmp_path: Path, *, under_strategy: bool, only: set[str] | None = None) -> dict[str, bool]:
    """Run Keras' tests, or some of them; say of each whether it passed."""
    report = tmp_path / f"{under_strategy}.xml"
    plugin = ["-p", "tests.keras_suite.under_strategy"] if under_strategy else []
    environment = dict(
        os.environ, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="4"
    )
    environment["PYTHONPATH"] = str(HERE.parents[1])
    which = [SUITE] if only is None else [f"{SUITE}::{name}" for name in sorted(only)]
    command = [sys.executable, "-m", "pytest", "-c", HERE / "pytest.ini", *which, *plugin]
    subprocess.run(
        [*map(str, command), f"--junitxml={report}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    return {_name(case): len(case) == 0 for case in ET.parse(report).iter("testcase")}


def _name(case: ET.Element) -> str:
    return f"{case.get('classname', '').rsplit('.', 1)[-1]}::{case.get('name')}"


def test_what_passes_in_plain_keras_passes_under_a_strategy(tmp_path):
    under = run(tmp_path, under_strategy=True)
    assert sum(under.values()) > 100, "Keras' suite did not run"
    failed = {name for name, passed in under.items() if not passed}
    plainly = run(tmp_path, under_strategy=False, only=failed)
    assert plainly.keys() == failed
    unlike = {name for name, passed in plainly.items() if passed}
    assert unlike == set(EXCEPTIONS), "exceptions are listed with their reasons, and true"
