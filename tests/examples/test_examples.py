"""Every example, run as a user would, on 1, 4 and 8 devices: the same losses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TENSORFLOW = sorted(path.name for path in (EXAMPLES / "tensorflow").glob("*.py"))
NATIVE = sorted(path.name for path in (EXAMPLES / "native").glob("*.py"))
TIMEOUT_S = 300


def printed(command, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MANYHANDS_", "KERAS_"))}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env=clean | {"JAX_PLATFORMS": "cpu"} | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def losses(text):
    found = [float(line.split()[1]) for line in text.splitlines() if line.startswith("loss ")]
    assert found, text
    return found


def under_tensorflows_name(name, devices, *arguments):
    options = ["-m", "manyhands.cli.main", "run", "--devices", devices]
    return losses(printed([*options, EXAMPLES / "tensorflow" / name, *arguments]))


@pytest.mark.parametrize("name", TENSORFLOW)
def test_tensorflow_spelling(name):
    one = under_tensorflows_name(name, 1)
    for devices in (4, 8):
        many = under_tensorflows_name(name, devices)
        np.testing.assert_allclose(many, one, rtol=2e-4, err_msg=f"{devices} devices")


@pytest.mark.parametrize("name", NATIVE)
def test_native_spelling(name):
    one, four = (
        losses(printed([EXAMPLES / "native" / name], MANYHANDS_DEVICES=str(devices)))
        for devices in (1, 4)
    )
    np.testing.assert_allclose(four, one, rtol=2e-4)


@pytest.mark.parametrize("spelling", ["tensorflow", "native"])
def test_a_stopped_loop_goes_on_where_it_was(tmp_path, spelling):
    def run(folder, epochs, devices):
        script = EXAMPLES / spelling / "checkpoint_resume.py"
        if spelling == "tensorflow":
            return under_tensorflows_name(script.name, devices, folder, epochs)
        return losses(printed([script, folder, epochs], MANYHANDS_DEVICES=str(devices)))

    whole = run(tmp_path / "whole", 5, 4)
    parts = run(tmp_path / "parts", 3, 4) + run(tmp_path / "parts", 5, 2)
    np.testing.assert_allclose(parts, whole, rtol=1e-4)


def test_both_spellings_give_the_same_where_they_are_the_same_program():
    for name in ("fit.py", "manual_shards.py", "checkpoint_resume.py"):
        one = under_tensorflows_name(name, 2)
        other = losses(printed([EXAMPLES / "native" / name], MANYHANDS_DEVICES="2"))
        np.testing.assert_allclose(one, other, rtol=1e-4)
