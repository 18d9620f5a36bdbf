"""Values for variables that do not exist yet arrive before anybody looks at them."""

from __future__ import annotations

import gc

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.checkpoint import Checkpoint, CheckpointMismatchError, restoration
from manyhands.keras_bridge.creation import peek
from manyhands.keras_bridge.gradient_tape import GradientTape


@pytest.fixture(autouse=True)
def nothing_waits_from_before():
    gc.collect()
    yield
    gc.collect()


class Net(keras.Model):
    def __init__(self, units=3):
        super().__init__()
        self.inner = keras.layers.Dense(units)
        self.drop = keras.layers.Dropout(0.5)
        self.head = keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.head(self.drop(self.inner(x), training=training))


X = np.random.default_rng(0).normal(size=(8, 4)).astype("f4")
Y = X.sum(1, keepdims=True)


def fitted():
    net = Net()
    net.compile("adam", "mse")
    net.fit(X, Y, epochs=2, shuffle=False, verbose=0)
    return net


def assert_same(one, other):
    for a, b in zip(one.variables, other.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=a.path)


def test_a_model_gets_its_values_when_it_is_built(tmp_path):
    saved = fitted()
    path = Checkpoint(net=saved).write(tmp_path / "x")
    net = Net()
    status = Checkpoint(net=net).read(path)
    with pytest.raises(AssertionError, match="net/inner/kernel"):
        status.assert_consumed()
    np.testing.assert_array_equal(net(X), saved(X))
    net.compile("adam", "mse")
    net.optimizer.build(net.trainable_variables)
    status.assert_consumed()
    assert_same(saved.optimizer, net.optimizer)
    assert not restoration._waiting


def test_the_checkpoint_object_may_be_gone(tmp_path):
    saved = fitted()
    path = Checkpoint(net=saved).write(tmp_path / "x")
    net = Net()
    Checkpoint(net=net).read(path)
    gc.collect()
    np.testing.assert_array_equal(net(X), saved(X))


def test_fit_goes_on_where_it_stopped(tmp_path):
    """The optimizer is built by `fit`, and the dropout's seed goes on."""
    saved = fitted()
    path = Checkpoint(net=saved).write(tmp_path / "x")
    net = Net()
    net.compile("adam", "mse")
    status = Checkpoint(net=net).read(path)
    for model in (net, saved):
        model.fit(X, Y, shuffle=False, verbose=0)
    status.assert_consumed()
    assert_same(saved, net)
    assert_same(saved.optimizer, net.optimizer)


def test_an_optimizer_built_at_its_first_step(tmp_path):
    w = keras.Variable(np.ones(3, "f4"))
    optimizer = keras.optimizers.Adam()
    optimizer.apply_gradients([(jnp.ones(3), w)])
    path = Checkpoint(optimizer=optimizer, w=w).write(tmp_path / "x")

    v = keras.Variable(np.zeros(3, "f4"))
    other = keras.optimizers.Adam()
    Checkpoint(optimizer=other, w=v).read(path)
    for opt, variable in ((optimizer, w), (other, v)):
        opt.apply_gradients([(jnp.full(3, -2.0), variable)])
    np.testing.assert_array_equal(w.numpy(), v.numpy())
    assert_same(optimizer, other)


def test_an_optimizer_built_while_jax_traces(tmp_path):
    w = keras.Variable(np.ones(3, "f4"))
    optimizer = keras.optimizers.Adam()
    optimizer.apply([jnp.ones(3)], [w])
    path = Checkpoint(optimizer=optimizer).write(tmp_path / "x")

    other = keras.optimizers.Adam()
    Checkpoint(optimizer=other).read(path)

    @jax.jit
    def step(x):
        other.build([w])
        return x + other._momentums[0].value

    np.testing.assert_array_equal(step(jnp.zeros(3)), optimizer._momentums[0].numpy())
    assert not isinstance(peek(other._momentums[0]), jax.core.Tracer)
    assert_same(optimizer, other)


def test_variables_made_in_a_stateless_scope(tmp_path):
    saved = keras.layers.Dense(2)
    saved.build((None, 3))
    path = Checkpoint(layer=saved).write(tmp_path / "x")
    layer = keras.layers.Dense(2)
    Checkpoint(layer=layer).read(path)
    x = np.ones((1, 3), "f4")

    @jax.jit
    def step(x):
        with keras.StatelessScope():
            return layer(x)

    np.testing.assert_array_equal(step(x), saved(x))
    np.testing.assert_array_equal(layer(x), saved(x))


def test_a_step_under_a_strategy_builds_the_optimizer(tmp_path):
    """As in a custom loop: the optimizer's variables are made at the first `strategy.run`."""
    strategy = mh.MirroredStrategy(["cpu:0", "cpu:1"])

    def loop(restore_from=None, steps=3):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            net, optimizer = Net(), keras.optimizers.Adam()
        checkpoint = Checkpoint(net=net, optimizer=optimizer)
        if restore_from is not None:
            checkpoint.restore(restore_from)
        net(X)

        def step(x, y):
            with GradientTape() as tape:
                loss = keras.ops.mean((net(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
            return loss

        for _ in range(steps):
            strategy.run(step, args=(X, Y))
        return net, optimizer, checkpoint, lambda: strategy.run(step, args=(X, Y))

    def assert_close(one, other):
        for a, b in zip(one.variables, other.variables, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-7)

    back, back_optimizer, checkpoint, again = loop(steps=2)
    path = checkpoint.save(tmp_path / "ckpt")
    whole, whole_optimizer, *_ = loop(steps=4)
    net, optimizer, *_ = loop(restore_from=path, steps=2)
    assert_close(whole, net)
    assert_close(whole_optimizer, optimizer)
    again()
    checkpoint.restore(path).assert_consumed()  # back in the middle of the loop
    again(), again()
    assert_close(whole, back)
    assert_close(whole_optimizer, back_optimizer)


def test_objects_of_the_program_that_make_variables_when_called(tmp_path):
    class Module:
        def __call__(self, x):
            if not hasattr(self, "w"):
                self.w = keras.Variable(np.zeros(2, "f4"))
            return self.w.value + x

    saved = Module()
    saved(0.0)
    saved.w.assign([3.0, 4.0])
    path = Checkpoint(module=saved).write(tmp_path / "x")
    module = Module()
    Checkpoint(module=module).read(path)
    np.testing.assert_array_equal(module(1.0), [4.0, 5.0])


def test_what_is_assigned_comes_after_what_is_restored(tmp_path):
    path = Checkpoint(v=keras.Variable(3.0)).write(tmp_path / "x")
    checkpoint = Checkpoint()
    status = checkpoint.read(path)
    checkpoint.v = keras.Variable(0.0)
    assert float(checkpoint.v.numpy()) == 3.0
    checkpoint.v.assign(1.0)
    status.assert_consumed()
    assert float(checkpoint.v.numpy()) == 1.0


def test_the_later_restore_wins(tmp_path):
    def saved(value):
        layer = keras.layers.Dense(1, kernel_initializer=keras.initializers.Constant(value))
        layer.build((None, 1))
        return Checkpoint(layer=layer).write(tmp_path / f"x{value}")

    first, second = saved(1), saved(2)
    layer = keras.layers.Dense(1)
    checkpoint = Checkpoint(layer=layer)
    checkpoint.read(first)
    checkpoint.read(second)
    layer.build((None, 1))
    assert float(layer.kernel.numpy()[0, 0]) == 2.0


def test_a_value_is_given_once(tmp_path):
    """A second optimizer under the same name starts anew."""
    path = Checkpoint(net=fitted()).write(tmp_path / "x")
    net = Net()
    net.compile("adam", "mse")
    Checkpoint(net=net).read(path)
    net.fit(X, Y, verbose=0)
    net.compile("adam", "mse")
    net.optimizer.build(net.trainable_variables)
    assert int(net.optimizer.iterations.numpy()) == 0


def test_another_shape_is_named_when_the_layer_is_built(tmp_path):
    path = Checkpoint(net=fitted()).write(tmp_path / "x")
    net = Net(units=5)
    Checkpoint(net=net).read(path)
    with pytest.raises(CheckpointMismatchError, match=r"net/inner/kernel: saved float32\[4, 3\]"):
        net(X)
    with pytest.raises(CheckpointMismatchError, match=r"fix: make the model as it was"):
        net.get_weights()


@pytest.mark.parametrize("expected", [True, False])
def test_values_that_nobody_took_are_said_at_the_end(tmp_path, caplog, expected):
    path = Checkpoint(net=fitted()).write(tmp_path / "x")
    net = Net()
    net(X)
    status = Checkpoint(net=net).read(path)
    if expected:
        status.expect_partial()
    del status, net
    gc.collect()
    assert ("net/optimizer/iterations" in caplog.text) is not expected
    assert ("expect_partial()" in caplog.text) is not expected


def test_nothing_is_kept_for_objects_that_are_gone(tmp_path):
    path = Checkpoint(net=fitted()).write(tmp_path / "x")
    net = Net()
    Checkpoint(net=net).read(path)
    assert restoration._waiting
    del net
    gc.collect()
    assert not restoration._waiting
