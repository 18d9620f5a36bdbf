"""A step uses up what it is given, and nothing that the program still holds."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
import manyhands.tf as tf
from manyhands.engine import placing


def step_on(variable):
    @tf.function
    def step():
        variable.assign_add([1.0])

    return step


def from_a_tensor():
    held = tf.constant([1.0])
    return tf.Variable(held), held


def assigned_from_a_tensor():
    held, variable = tf.constant([1.0]), tf.Variable([0.0])
    variable.assign(held)
    return variable, held


def read_before():
    variable = tf.Variable([1.0])
    return variable, variable.read_value()


def assigned_to_another():
    variable, other = tf.Variable([1.0]), tf.Variable([5.0])
    other.assign(variable)
    return variable, other


CASES = [from_a_tensor, assigned_from_a_tensor, read_before, assigned_to_another]


@pytest.mark.parametrize("made", CASES)
def test_what_the_program_holds_stays(made):
    variable, held = made()
    step = step_on(variable)
    step()
    step()
    assert held.numpy() == 1.0
    assert variable.numpy() == 3.0


@pytest.mark.parametrize("num_devices", [1, 4])
def test_fit_leaves_what_was_read_before_it(num_devices):
    with mh.MirroredStrategy([f"CPU:{i}" for i in range(num_devices)]).scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
    held = [variable.value for variable in model.variables]
    before = [np.array(value) for value in held]
    model.fit(np.ones((8, 2), "float32"), np.ones((8, 1), "float32"), verbose=0)
    for value, was in zip(held, before, strict=True):
        np.testing.assert_array_equal(value, was)
    assert not np.array_equal(model.get_weights()[0], before[0])


def test_nothing_is_copied_that_nobody_holds(monkeypatch):
    copied = []
    variable = tf.Variable([0.0])
    step = step_on(variable)
    step()
    original = placing.to_give_away

    def counting(parts, holders):
        given = original(list(parts), holders + 1)  # one list more
        copied.extend(1 for one, other in zip(parts, given, strict=True) if one is not other)
        return given

    monkeypatch.setattr("manyhands.keras_bridge.bound_program.to_give_away", counting)
    for _ in range(3):
        step()
    assert not copied
    assert variable.numpy() == 4.0
