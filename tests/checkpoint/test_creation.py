"""What checkpoints assume of Keras' private names; fails loudly when a new Keras changes them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras.src.backend.common.variables import Variable
from keras.src.saving.keras_saveable import KerasSaveable

from manyhands.keras_bridge import creation


def test_layers_optimizers_and_metrics_are_saveable_and_keep_what_they_own():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1), keras.layers.Dropout(0.1)])
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((2, 2)), np.ones((2, 1)), verbose=0)
    layer, optimizer, metric = model.layers[0], model.optimizer, keras.metrics.Mean()
    for thing in (model, layer, optimizer, metric):
        assert isinstance(thing, KerasSaveable)
    assert len(layer._trainable_variables) == 2
    assert len(optimizer._variables) == len(optimizer.variables)
    assert len(optimizer._trainable_variables) == 2, "the model's, which are not the optimizer's"
    assert len(metric._variables) == len(metric.variables)
    assert model._loss_tracker is not None
    assert model._compile_metrics is not None
    assert hasattr(model, "_jax_state")
    assert callable(model.jax_state_sync)


def test_every_variable_of_keras_own_layers_is_found_by_some_name():
    """No built-in layer or optimizer hides a variable from us."""
    lstm = keras.layers.Bidirectional(keras.layers.LSTM(2, dropout=0.1))
    attention = keras.layers.MultiHeadAttention(2, 2)
    inputs = keras.Input((3, 4))
    outputs = keras.layers.Dense(1)(lstm(attention(inputs, inputs)))
    model = keras.Model(inputs, outputs)
    for name in ("SGD", "Adam", "Adafactor", "Lion", "Ftrl", "Nadam", "Muon", "Lamb"):
        optimizer = getattr(keras.optimizers, name)()
        optimizer.build(model.trainable_variables)
        assert _ids(_below(optimizer)) == _ids(optimizer.variables), name
    assert _ids(_below(model)) >= _ids(model.variables)


def _below(thing):
    from manyhands.checkpoint.graph import walk

    return [node.thing for node in walk(thing) if node.kind == "variable"]


def _ids(variables):
    return {id(variable) for variable in variables}


def test_a_variable_has_the_members_we_set():
    variable = keras.Variable(np.zeros(2), dtype="float32")
    assert isinstance(variable, Variable)
    for name in ("_value", "_initializer", "_layout", "_dtype", "_shape"):
        assert hasattr(variable, name)
    assert isinstance(vars(Variable)["value"], property)
    creation.put(variable, np.ones(2, "float32"))
    np.testing.assert_array_equal(variable.numpy(), [1, 1])


def test_the_listener_is_called_before_the_first_look_and_once():
    calls = []
    creation.watch_new_variables(lambda: calls.append(1))
    try:
        variable = keras.Variable(0.0)
        assert not calls
        variable.numpy()
        variable.numpy()
        assert len(calls) == 1
        keras.Variable(0.0).assign(1.0)
        assert len(calls) == 2
    finally:
        creation.watch_new_variables(None)
    keras.Variable(0.0).numpy()
    assert len(calls) == 2


def test_put_keeps_a_layout_of_keras_distribution():
    import jax

    mesh = keras.distribution.DeviceMesh((4,), ["model"], ["cpu:0", "cpu:1", "cpu:2", "cpu:3"])
    layout = keras.distribution.TensorLayout(["model"], mesh)
    variable = keras.Variable(np.zeros(8), dtype="float32", layout=layout)
    creation.put(variable, np.arange(8, dtype="float32"))
    assert len(creation.peek(variable).sharding.device_set) == 4
    assert creation.peek(variable).sharding.spec == jax.sharding.PartitionSpec("model")
    np.testing.assert_array_equal(variable.numpy(), np.arange(8))


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_put_keeps_placement(dtype):
    import jax

    mesh = jax.make_mesh((4,), ("a",), devices=jax.devices("cpu")[:4])
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    variable = keras.Variable(np.zeros(4), dtype=dtype)
    creation.put(variable, np.ones(4, dtype))
    assert not creation.peek(variable).committed, "free to go where a step runs"
    variable._value = jax.device_put(variable._value, sharding)
    creation.put(variable, np.full(4, 2, dtype))
    assert creation.peek(variable).sharding == sharding
    np.testing.assert_array_equal(variable.numpy(), [2] * 4)
