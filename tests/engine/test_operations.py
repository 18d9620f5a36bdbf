"""No operation ends the process, or gives other numbers, on rows that do not divide.

XLA's partitioner aborts on some: in programs of their own, so that an abort is a failure here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import manyhands as mh

HERE = Path(__file__).parents[2]
PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_every_operation_with_its_gradient_equals_one_device(part):
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.operations_program", str(part), str(PARTS)],
        cwd=HERE,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    tried = [line for line in done.stdout.splitlines() if line.startswith("trying")]
    assert done.returncode == 0, f"{tried[-1:]}\n{done.stderr[-2000:]}"
    assert "compared" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("WRONG")] == []


def test_a_tape_around_a_run_goes_back_through_a_sort():
    strategy = mh.MirroredStrategy(["cpu:0", "cpu:1", "cpu:2", "cpu:3"])
    rows = np.random.default_rng(0).normal(size=(7, 3)).astype("float32")
    weight = jnp.ones(3) * 1.5

    def loss(x, w):
        return jnp.sum(jnp.sort(x * w, axis=0) * jnp.arange(7.0)[:, None])

    with mh.GradientTape() as tape:
        tape.watch(weight)
        given = strategy.run(loss, args=(rows, weight))
    wanted = jax.grad(loss, argnums=1)(rows, weight)
    np.testing.assert_allclose(tape.gradient(given, weight), wanted, rtol=1e-5)
