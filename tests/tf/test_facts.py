"""What TensorFlow 2.21 itself gave, and what manyhands.tf gives for the same programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FACTS = Path(__file__).parent / "facts"


def output_of(script):
    done = subprocess.run(
        [sys.executable, "-m", "manyhands.cli.main", "run", str(FACTS / script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_operations_give_what_tensorflow_gives():
    wanted = json.loads((FACTS / "operations.json").read_text())
    got = json.loads(output_of("evaluate.py"))
    assert got.keys() == wanted.keys()
    wrong = [name for name in wanted if not same(got[name], wanted[name])]
    assert not wrong, {name: (got[name], wanted[name]) for name in wrong[:3]}
    assert len(wanted) > 190


def same(got, wanted):
    return len(got) == len(wanted) and all(
        one[:2] == other[:2] and np.allclose(one[2], other[2], rtol=2e-4, atol=2e-5, equal_nan=True)
        for one, other in zip(got, wanted, strict=True)
    )


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def test_programs_mean_what_they_mean_in_tensorflow():
    """Tapes, functions, datasets, files, strategies: line by line."""
    wanted = (FACTS / "semantics.txt").read_text().splitlines()
    got = [line for name in ("steps.py", "pipelines.py") for line in output_of(name).splitlines()]
    assert len(got) == len(wanted)
    for number, (one, other) in enumerate(zip(got, wanted, strict=True), 1):
        assert NUMBER.sub("#", one) == NUMBER.sub("#", other), f"line {number}"
        values = [np.array(NUMBER.findall(line), float) for line in (one, other)]
        np.testing.assert_allclose(*values, rtol=1e-3, atol=2e-4, err_msg=f"line {number}: {one}")


def test_gradients_at_corners_are_tensorflows():
    """No gradient (None in TensorFlow) and a gradient of zeros are the same here."""
    wanted = json.loads((FACTS / "gradients.json").read_text())
    got = json.loads(output_of("differentiate.py"))
    assert got.keys() == wanted.keys()
    for name, facts in wanted.items():
        for one, other in zip(got[name], facts, strict=True):
            none = [0.0] * len(one or other or [])
            np.testing.assert_allclose(
                one or none, other or none, rtol=1e-5, atol=1e-6, err_msg=name
            )
    assert len(wanted) > 40


@pytest.mark.parametrize("name", ["operations.json", "semantics.txt", "gradients.json"])
def test_the_facts_are_there(name):
    assert (FACTS / name).stat().st_size > 500
