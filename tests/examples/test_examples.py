"""Every example, run as a user would, on 1, 4 and 8 devices: the same losses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs import run_command

EXAMPLES = Path(__file__).parents[2] / "examples"
TENSORFLOW = sorted(path.name for path in (EXAMPLES / "tensorflow_programs").glob("*.py"))
NATIVE = sorted(path.name for path in (EXAMPLES / "native").glob("*.py"))
TIMEOUT_S = 280


def printed(command, **environment):
    environment = {"JAX_PLATFORMS": "cpu"} | environment
    done = run_command(command, timeout_s=TIMEOUT_S, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def losses(text):
    found = [float(line.split()[1]) for line in text.splitlines() if line.startswith("loss ")]
    assert found, text
    return found


def under_tensorflows_name(name, devices, *arguments):
    options = ["-m", "manyhands.cli.main", "run", "--devices", str(devices)]
    return losses(printed([*options, EXAMPLES / "tensorflow_programs" / name, *arguments]))


def in_its_own_spelling(name, devices, *arguments):
    command = [EXAMPLES / "native" / name, *arguments]
    return losses(printed(command, MANYHANDS_DEVICES=str(devices)))


SPELLINGS = {"tensorflow": under_tensorflows_name, "native": in_its_own_spelling}
SAME_PROGRAM = ("fit.py", "manual_shards.py", "checkpoint_resume.py")


@pytest.mark.parametrize("name", TENSORFLOW)
def test_the_same_losses_on_any_number_of_devices(name):
    one, many = (under_tensorflows_name(name, devices) for devices in (1, 8))
    np.testing.assert_allclose(many, one, rtol=2e-4)
    if name not in NATIVE:
        np.testing.assert_allclose(under_tensorflows_name(name, 4), one, rtol=2e-4)
    else:
        alone = one if name in SAME_PROGRAM else in_its_own_spelling(name, 1)
        np.testing.assert_allclose(in_its_own_spelling(name, 4), alone, rtol=2e-4)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_stopped_loop_goes_on_where_it_was(tmp_path, spelling):
    run = SPELLINGS[spelling]
    first = run("checkpoint_resume.py", 4, tmp_path, 3)
    rest = run("checkpoint_resume.py", 2, tmp_path, 6)
    assert (len(first), len(rest)) == (3, 3)
    whole = run("checkpoint_resume.py", 1)
    np.testing.assert_allclose(first + rest, whole, rtol=2e-4)
