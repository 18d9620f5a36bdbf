"""Saved on N devices, restored on M: the run goes on as if it had never stopped."""

from __future__ import annotations

from contextlib import nullcontext

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.checkpoint import Checkpoint
from manyhands.keras_bridge.creation import peek


def scope(num_devices):
    if num_devices is None:
        return nullcontext()
    return mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).scope()


def build(num_devices, *, use_ema=True):
    """Make a model with everything that has state: batch norm, dropout, Adam, EMA."""
    keras.utils.set_random_seed(5)
    with scope(num_devices):
        model = keras.Sequential(
            [
                keras.layers.Dense(8, activation="tanh"),
                keras.layers.BatchNormalization(),
                keras.layers.Dropout(0.3),
                keras.layers.Dense(2),
            ]
        )
        model.compile(keras.optimizers.Adam(0.01, use_ema=use_ema), "mse", metrics=["mae"])
    return model


def fit(model, epochs):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    model.fit(x, y, batch_size=8, epochs=epochs, shuffle=False, verbose=0)
    return [v.numpy() for v in (*model.variables, *model.optimizer.variables)]


@pytest.fixture
def saved_on_four(tmp_path, float64):
    model = build(4)
    fit(model, 2)
    path = Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "ckpt")
    return path, fit(model, 2)


@pytest.mark.parametrize("num_devices", [2, 1, None])
@pytest.mark.parametrize("when", ["before it is built", "while it trains"])
def test_a_run_goes_on_with_other_devices(saved_on_four, num_devices, when):
    path, uninterrupted = saved_on_four
    model = build(num_devices)
    if when == "while it trains":
        fit(model, 1)
    status = Checkpoint(model=model, optimizer=model.optimizer).restore(path)
    got = fit(model, 2)
    status.assert_consumed()
    for one, other in zip(got, uninterrupted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_restored_variable_stays_where_it_was(saved_on_four):
    path, _ = saved_on_four
    model = build(2)
    fit(model, 1)
    before = [peek(v).sharding for v in model.variables]
    assert {len(sharding.device_set) for sharding in before} == {2}
    Checkpoint(model=model, optimizer=model.optimizer).restore(path)
    assert [peek(v).sharding for v in model.variables] == before


def test_saved_without_a_strategy_restored_on_four(tmp_path, float64):
    # Without EMA: plain Keras 3.15 gives away a shared buffer in the `fit` after an overwrite.
    plain = build(None, use_ema=False)
    fit(plain, 1)
    path = Checkpoint(model=plain).save(tmp_path / "ckpt")
    uninterrupted = fit(plain, 1)
    model = build(4, use_ema=False)
    Checkpoint(model=model).restore(path)
    for one, other in zip(fit(model, 1), uninterrupted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_steps_after_a_save_do_not_reach_into_it(tmp_path):
    """The state's buffers are given to the next step; the copy in the background is its own."""
    model = build(4)
    fit(model, 1)
    wanted = model.get_weights()
    path = Checkpoint(model=model).save(tmp_path / "ckpt")
    fit(model, 1)
    other = build(None)
    other.build((None, 5))
    Checkpoint(model=other).restore(path).expect_partial()
    for one, two in zip(other.get_weights(), wanted, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_callback_saves_in_the_middle_of_an_epoch(tmp_path):
    model = build(4)
    checkpoint = Checkpoint(model=model, optimizer=model.optimizer)
    steps = []

    class Save(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                checkpoint.save(tmp_path / "ckpt")
                steps.append([v.numpy() for v in model.optimizer.variables])

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(32, 5)), rng.normal(size=(32, 2))
    model.fit(x, y, batch_size=8, verbose=0, callbacks=[Save()])
    assert steps[0][0] == 3
    other = build(None)
    other.build((None, 5))
    other.optimizer.build(other.trainable_variables)
    Checkpoint(model=other, optimizer=other.optimizer).restore(
        tmp_path / "ckpt-1"
    ).assert_consumed()
    for one, two in zip(steps[0], other.optimizer.variables, strict=True):
        np.testing.assert_array_equal(one, two.numpy())
