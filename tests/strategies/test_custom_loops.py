"""A custom loop on many devices equals Keras' own training on one."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.keras_bridge.gradient_tape import GradientTape

pytestmark = pytest.mark.usefixtures("float64")


def strategy(count):
    return mh.MirroredStrategy([f"cpu:{i}" for i in range(count)])


def rows(count=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 6)), rng.integers(0, 4, count)


def model():
    return keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(8, activation="relu", kernel_regularizer="l2"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(4),
        ]
    )


def batches(x, y, size):
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


def wanted(epochs, size):
    """Plain Keras on one device."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(3)
    net = model()
    net.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    losses = []
    for _ in range(epochs):
        for x, y in batches(*rows(), size):
            net.reset_metrics()
            losses.append(float(net.train_on_batch(x, y)))
    return losses, net.get_weights()


def looped(count, epochs, size, average):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(3)
    many = strategy(count)
    with many.scope():
        net = model()
        optimizer = keras.optimizers.Adam(0.01)
        total = keras.metrics.Mean()
    mean = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    single = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)

    def step(x, y):
        with GradientTape() as tape:
            logits = net(x, training=True)
            if average == "mean":
                loss = mean(y, logits)
            else:
                loss = keras.ops.sum(single(y, logits)) / len(x)
            loss = loss + sum(net.losses)
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        total.update_state(loss)
        return loss

    losses = []
    for _ in range(epochs):
        for x, y in many.distribute_dataset(batches(*rows(), size)):
            given = many.run(step, args=(x, y))
            losses.append(float(many.reduce("SUM", given, axis=None)))
    np.testing.assert_allclose(float(total.result()), np.mean(losses), rtol=1e-9)
    return losses, net.get_weights()


@pytest.mark.parametrize("average", ["mean", "by hand"])
@pytest.mark.parametrize(("count", "size"), [(1, 10), (4, 8), (4, 7), (3, 30), (8, 5)])
def test_a_loop_equals_keras_on_one_device(count, size, average):
    losses, weights = looped(count, 2, size, average)
    expected, expected_weights = wanted(2, size)
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    for one, other in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
