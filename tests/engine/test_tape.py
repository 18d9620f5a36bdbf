"""GradientTape: what it gives is what JAX's own gradient gives, and TensorFlow's rules hold."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyhands as mh
from manyhands import keras_bridge
from manyhands.keras_bridge.function import Function
from tests.programs import output_of

keras_bridge.install()

X = jnp.asarray([0.5, -1.0, 2.0])


def tape_gradient(function, *sources, **options):
    with mh.GradientTape(**options) as tape:
        tape.watch(list(sources))
        target = function(*sources)
    return tape.gradient(target, list(sources))


FUNCTIONS = {
    "power": lambda x: x**3,
    "relu": lambda x: jax.nn.relu(x) * jnp.where(x > 0, x, 1.0),
    "loop": lambda x: jnp.sin(jnp.sin(jnp.sin(x))),
    "scan": lambda x: jax.lax.scan(lambda c, y: (c * y, c), x, jnp.arange(1.0, 4.0))[0],
    "cond": lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "while": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * 1.5, x),
    "remat": jax.checkpoint(lambda x: jnp.tanh(x) * x),
    "gather": lambda x: x[jnp.array([0, 0, 2])] * x,
    "many": lambda x: jnp.split(x * 2, 3)[1] * x[0],
    "twice": lambda x: x * x + x,
    "integers": lambda x: x * jnp.argsort(x).astype("float32"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_is_jaxs(name):
    function = FUNCTIONS[name]
    [got] = tape_gradient(function, X)
    wanted = jax.grad(lambda x: function(x).sum())(X)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    compiled = jax.jit(lambda x: tape_gradient(function, x)[0])(X)
    np.testing.assert_allclose(compiled, wanted, rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(["sin", "square", "double", "tanh", "shift"]), split=st.integers(0, 4))
def test_chains_in_any_order(order, split):
    steps = {
        "sin": jnp.sin,
        "square": lambda x: x * x,
        "double": lambda x: x + x,
        "tanh": jnp.tanh,
        "shift": lambda x: x[::-1] + 1,
    }

    def chain(x):
        for name in order[: split + 1]:
            x = steps[name](x)
        return x

    [got] = tape_gradient(chain, X)
    np.testing.assert_allclose(got, jax.grad(lambda x: chain(x).sum())(X), rtol=1e-5, atol=1e-6)


def test_persistent_tapes_answer_again():
    with mh.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = X * X
        z = y * y
    np.testing.assert_allclose(tape.gradient(z, X), 4 * X**3, rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(y, X), 2 * X)
    np.testing.assert_allclose(tape.gradient(z, y), 2 * y)


def test_other_tapes_answer_once():
    with mh.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    tape.gradient(y, X)
    with pytest.raises(RuntimeError, match="non-persistent GradientTape can only be used"):
        tape.gradient(y, X)


def test_tapes_nest():
    with mh.GradientTape() as outer:
        outer.watch(X)
        with mh.GradientTape() as inner:
            inner.watch(X)
            y = X**3
        first = inner.gradient(y, X)
    np.testing.assert_allclose(first, 3 * X**2, rtol=1e-6)
    np.testing.assert_allclose(outer.gradient(first, X), 6 * X, rtol=1e-6)


def test_a_gradient_inside_a_persistent_tape_is_recorded_on_it():
    with mh.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = X**3
        first = tape.gradient(y, X)
    np.testing.assert_allclose(tape.gradient(first, X), 6 * X, rtol=1e-6)


def test_what_is_not_connected_is_none_or_zero():
    other = jnp.ones(2)
    with mh.GradientTape(persistent=True) as tape:
        tape.watch([X, other])
        y = X * 2
    assert tape.gradient(y, other) is None
    np.testing.assert_array_equal(tape.gradient(y, other, unconnected_gradients="zero"), [0, 0])
    with pytest.raises(ValueError, match="Use 'none' or 'zero'"):
        tape.gradient(y, other, unconnected_gradients="nothing")


def test_trainable_variables_are_watched_by_themselves():
    kernel = keras.Variable(np.ones(3, "float32"))
    frozen = keras.Variable(np.ones(3, "float32"), trainable=False)
    with mh.GradientTape(persistent=True) as tape:
        y = kernel.value * frozen.value * X
    np.testing.assert_allclose(tape.gradient(y, kernel), X)
    assert tape.gradient(y, frozen) is None
    assert tape.watched_variables() == (kernel,)
    with mh.GradientTape(watch_accessed_variables=False) as blind:
        y = kernel.value * X
    assert blind.gradient(y, kernel) is None


def test_a_variable_that_is_set_begins_anew():
    variable = keras.Variable(3.0)
    with mh.GradientTape() as tape:
        variable.assign_add(1.0)
        y = variable.value * variable.value
    assert float(tape.gradient(y, variable)) == 8.0


def test_stop_recording_and_stop_gradient():
    with mh.GradientTape() as tape:
        tape.watch(X)
        with tape.stop_recording():
            factor = X * 3
        y = X * factor + keras.ops.stop_gradient(X) * X
    np.testing.assert_allclose(tape.gradient(y, X), 3 * X + X, rtol=1e-6)
    with pytest.raises(ValueError, match="enter the tape first"), tape.stop_recording():
        pass


def test_jacobians():
    with mh.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = jnp.sin(X) * X[0]
    wanted = jax.jacobian(lambda x: jnp.sin(x) * x[0])(X)
    np.testing.assert_allclose(tape.jacobian(y, X), wanted, rtol=1e-6)
    assert tape.jacobian(y, jnp.ones(2)) is None
    rows = jnp.arange(6.0).reshape(2, 3)
    with mh.GradientTape() as tape:
        tape.watch(rows)
        y = rows * rows[:, :1]
    wanted = jax.vmap(jax.jacobian(lambda r: r * r[:1]))(rows)
    np.testing.assert_allclose(tape.batch_jacobian(y, rows), wanted)


def test_seeds_and_nested_sources():
    with mh.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y, z = X * 2, X * 3
    np.testing.assert_allclose(tape.gradient([y, z], {"x": X})["x"], [5, 5, 5])
    np.testing.assert_allclose(tape.gradient(y, X, output_gradients=X), 2 * X)


@pytest.mark.parametrize("layer", ["dense", "lstm", "mixed"])
def test_layers_have_the_gradients_of_jax(layer):
    keras.utils.set_random_seed(0)
    make = {
        "dense": lambda: keras.layers.Dense(3, activation="gelu"),
        "lstm": lambda: keras.layers.LSTM(3),
        "mixed": lambda: keras.layers.Dense(3, dtype="mixed_bfloat16"),
    }
    net = keras.Sequential([keras.Input((5, 4)), make[layer]()])
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    with mh.GradientTape() as tape:
        loss = keras.ops.sum(keras.ops.cast(net(x), "float32") ** 2)
    got = tape.gradient(loss, net.trainable_variables)

    def plain(values):
        out, _ = net.stateless_call(values, [v.value for v in net.non_trainable_variables], x)
        return keras.ops.sum(keras.ops.cast(out, "float32") ** 2)

    wanted = jax.grad(plain)([v.value for v in net.trainable_variables])
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def compiled_text(step, *args):
    program, arrays = Function(step).program_for(*args)
    return program.text(arrays)


def test_a_compiled_step_has_no_second_forward_pass():
    net = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2)]
    )
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(net.trainable_variables)

    def step(x):
        with mh.GradientTape() as tape:
            loss = keras.ops.mean(net(x) ** 2)
        optimizer.apply(tape.gradient(loss, net.trainable_variables), net.trainable_variables)
        return loss

    text = compiled_text(step, jnp.ones((16, 4)))
    assert len(re.findall(r" dot\(", text)) == 5


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="cuDNN has its own recurrent kernels")
def test_nor_does_a_recurrent_one_run_its_loop_twice():
    net = keras.Sequential([keras.Input((6, 4)), keras.layers.LSTM(5)])

    def step(x):
        with mh.GradientTape() as tape:
            loss = keras.ops.mean(net(x) ** 2)
        return loss, tape.gradient(loss, net.trainable_variables)

    text = compiled_text(step, jnp.ones((3, 6, 4)))
    assert len(re.findall(r" while\(", text)) == 2, "one forward, one backward"


def test_a_tape_hears_of_variables_before_there_is_any_strategy():
    printed = output_of(
        """
        import manyhands as mh, keras, numpy as np
        net = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        with mh.GradientTape() as tape:
            loss = keras.ops.mean(net(np.ones((3, 2), "float32")) ** 2)
        print([gradient.shape for gradient in tape.gradient(loss, net.trainable_variables)])
        """
    )
    assert printed.strip() == "[(2, 1), (1,)]"
