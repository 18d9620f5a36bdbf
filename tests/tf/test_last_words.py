"""A program that fails ends with our words, not with a note on JAX's frames."""

from __future__ import annotations

import subprocess
import sys

import pytest

import manyhands.tf as tf

PROGRAM = """
import numpy as np
import tensorflow as tf

late = tf.Variable(0.0)


class Model(tf.keras.Model):
    def train_step(self, data):
        if len(data) < 4:
            late.assign_add(1.0)
        return {"loss": tf.reduce_mean(data)}


model = Model()
model.compile()
model.fit(np.ones((6, 2)), batch_size=4, verbose=0)
"""


def test_the_last_line_says_what_to_do(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "manyhands.cli.main", "run", str(tmp_path / "train.py")],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("  fix: write them in every step")


def test_a_reason_ends_with_one_full_stop():
    @tf.function
    def step(x):
        return x if x > 0 else -x

    with pytest.warns(UserWarning, match="runs eagerly") as said:
        step(tf.constant(1.0))
    assert ".." not in str(said[0].message)
