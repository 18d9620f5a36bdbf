"""tf.train.ExponentialMovingAverage, with the numbers that TensorFlow 2.21 gave."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands.tf as tf
from manyhands.errors import ManyhandsWarning


def test_averages_follow_slowly():
    v, half = tf.Variable([1.0, 2.0]), tf.Variable(3.0, dtype=tf.float16)
    averages = tf.train.ExponentialMovingAverage(0.9)
    assert averages.average(v) is None
    averages.apply([v, half])
    v.assign([2.0, 4.0])
    half.assign(5.0)
    averages.apply([v, half])
    np.testing.assert_allclose(averages.average(v).numpy(), [1.1, 2.2], rtol=1e-6)
    assert averages.average(half).numpy() == np.float16(3.2)
    assert not averages.average(v).trainable


def test_they_move_faster_at_first():
    v, steps = tf.Variable([2.0, 4.0]), tf.Variable(0)
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=steps)
    averages.apply([v])
    v.assign([0.0, 0.0])
    steps.assign(5)
    averages.apply([v])
    np.testing.assert_allclose(averages.average(v).numpy(), [0.8, 1.6], rtol=1e-6)


def test_a_compiled_step_moves_them(recwarn):
    v = tf.Variable([1.0, 1.0])
    averages = tf.train.ExponentialMovingAverage(0.5)

    @tf.function
    def step():
        v.assign_add([1.0, 1.0])
        averages.apply([v])

    step()
    step()
    np.testing.assert_array_equal(averages.average(v).numpy(), [2.25, 2.25])
    np.testing.assert_array_equal(v.numpy(), [3, 3])
    said = [w for w in recwarn if issubclass(w.category, ManyhandsWarning)]
    assert not [str(w.message) for w in said]


def test_a_strategys_step_moves_them():
    strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with strategy.scope():
        model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1, use_bias=False)])
        averages = tf.train.ExponentialMovingAverage(0.5)
    kernel = model.trainable_variables[0]
    kernel.assign([[1.0]])

    def step():
        kernel.assign([[3.0]])
        averages.apply(model.trainable_variables)

    strategy.run(step)
    assert averages.average(kernel).numpy() == 2.0


def test_only_variables_with_a_fraction_are_followed():
    averages = tf.train.ExponentialMovingAverage(0.5)
    with pytest.raises(TypeError, match="half, float, or double"):
        averages.apply([tf.Variable(1)])
    with pytest.raises(TypeError, match="variables only"):
        averages.apply([tf.constant(1.0)])
