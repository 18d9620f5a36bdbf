"""Sums over rows are put off and joined: few all-reduces, and the same sums."""

from __future__ import annotations

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.engine import joint_sums as module
from manyhands.engine.joint_sums import with_joint_sums
from tests.engine.steps import on_cpus

RNG = np.random.default_rng(0)


def joined(function, num_devices, x, *others):
    """Compile a function of rows and others; give its results and its all-reduces."""
    place = on_cpus(num_devices)
    step = with_joint_sums(lambda state, x: function(x, *state), place, [True])
    compiled = jax.jit(step, out_shardings=place.replicated)
    given = (jax.device_put(others, place.replicated), jax.device_put(x, place.split_rows))
    return compiled(*given), all_reduces(compiled.lower(*given).compile().as_text())


def all_reduces(text):
    """List how many arrays each all-reduce of a compiled program has."""
    shapes = re.findall(r"= (.*?) all-reduce(?:-start)?\(", text)
    return [len(re.findall(r"[a-z]+[0-9]+\[", shape)) for shape in shapes]


def gradients(x, weights):
    def loss(weights):
        for w, b in weights:
            x_next = jnp.tanh(xs[-1] @ w + b)
            xs.append(x_next)
        return jnp.mean(xs[-1] ** 2)

    xs = [x]
    return jax.value_and_grad(loss)(weights)


def layers(*widths):
    return [
        (RNG.normal(size=(a, b)).astype("float32"), RNG.normal(size=b).astype("float32"))
        for a, b in itertools.pairwise(widths)
    ]


def test_all_gradients_and_the_loss_are_one_array():
    x, weights = RNG.normal(size=(16, 5)).astype("float32"), layers(5, 7, 6, 3)
    (loss, found), reduces = joined(gradients, 4, x, weights)
    wanted_loss, wanted = gradients(x, weights)
    assert reduces == [1]
    np.testing.assert_allclose(loss, wanted_loss, rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, wanted)


def test_a_sum_that_another_needs_comes_first():
    def centred(x):
        mean = x.mean(0)
        return mean, ((x - mean) ** 2).sum(0), x.max()

    x = RNG.normal(size=(8, 3))
    found, reduces = joined(centred, 4, x)
    assert reduces.count(1) == len(reduces) == 3  # the mean, what needs it, and the maximum
    for part, wanted in zip(found, centred(x), strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-5)


def test_large_arrays_travel_by_themselves(monkeypatch):
    monkeypatch.setattr(module, "LARGE_BYTES", 100)
    x = RNG.normal(size=(8, 6)).astype("float32")
    found, reduces = joined(lambda x: (x.T @ x, x.sum(0), (x * 2).sum(0)), 2, x)
    assert sum(reduces) == 2  # the product, and the two sums as one
    for part, wanted in zip(found, (x.T @ x, x.sum(0), 2 * x.sum(0)), strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-4, atol=1e-5)


def test_kinds_of_numbers_are_kept_apart():
    x = np.arange(24).reshape(8, 3)
    found, _ = joined(
        lambda x: (x.sum(0), x.astype("float32").sum(0), (x > 4).astype("bfloat16").sum(0)), 4, x
    )
    assert [part.dtype.name for part in found] == ["int32", "float32", "bfloat16"]
    np.testing.assert_array_equal(found[0], x.sum(0))
    np.testing.assert_array_equal(found[1], x.sum(0))
    np.testing.assert_array_equal(found[2].astype("float32"), (x > 4).sum(0))


def test_rows_that_do_not_divide_are_left_to_xla():
    x = RNG.normal(size=(8, 3)).astype("float32")
    found, _ = joined(lambda x: (x[:7].sum(0), x[:7].T @ x[:7]), 4, x)
    np.testing.assert_allclose(found[0], x[:7].sum(0), rtol=1e-5)
    np.testing.assert_allclose(found[1], x[:7].T @ x[:7], rtol=1e-4, atol=1e-5)


def test_models_that_compute_long_are_left_to_xla():
    x, large = RNG.normal(size=(8, 3)).astype("float32"), np.ones((2**24 + 1,), "float32")
    step = lambda x, large: (x.sum(0), (x * 2).sum(0), large[0])  # noqa: E731
    assert joined(step, 2, x, large[:4])[1] == [1]
    assert joined(step, 2, x, large)[1] == [2]


def test_a_function_with_effects_is_left_as_it_is():
    seen = []

    def told(x):
        total = x.sum(0)
        jax.debug.callback(lambda part: seen.append(part.tolist()), total)
        return total * 2

    x = np.ones((8, 2), "float32")
    found, _ = joined(told, 2, x)
    jax.effects_barrier()
    assert found.tolist() == [16.0, 16.0]
    assert [8.0, 8.0] in seen


@jax.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))


@settings(deadline=None, max_examples=15)
@given(
    num_devices=st.sampled_from([2, 3, 8]),
    per_device=st.integers(1, 3),
    parts=st.lists(
        st.sampled_from(["relu", "softmax", "scan", "own gradient", "remat", "cond", "norm"]),
        min_size=1,
        max_size=4,
    ),
)
def test_any_step_means_the_same(num_devices, per_device, parts):
    """In float64, against the function by itself, through everything JAX calls functions with."""
    kinds = {
        "relu": jax.nn.relu,
        "softmax": jax.nn.softmax,
        "scan": lambda x: jax.lax.scan(lambda c, _: (c * 0.9, c), x, None, 3)[1].sum(0),
        "own gradient": doubled,
        "remat": jax.checkpoint(lambda x: jnp.sin(x) ** 2),
        "cond": lambda x: jax.lax.cond(x.sum() > 0, jnp.cos, jnp.sin, x),
        "norm": lambda x: (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3),
    }

    def step(x, weights):
        def loss(weights):
            y = x
            for part, (w, b) in zip(parts, weights, strict=True):
                y = kinds[part](y @ w + b)
            return jnp.mean(y**2) + sum(jnp.sum(w**2) for w, _ in weights)

        value, found = jax.value_and_grad(loss)(weights)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, found)

    rng = np.random.default_rng(len(parts))
    with jax.enable_x64(True):
        x = rng.normal(size=(num_devices * per_device, 4))
        weights = [(rng.normal(size=(4, 4)), rng.normal(size=4)) for _ in parts]
        found, _ = joined(step, num_devices, x, weights)
        wanted = jax.jit(step)(x, weights)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), found, wanted
        )


@pytest.mark.parametrize("num_devices", [2, 8])
def test_a_step_of_fit_sends_one_array(num_devices):
    """What `fit` compiles for several CPU devices: every gradient, the loss and the metric."""
    import keras

    import manyhands as mh

    strategy = mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)])
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
        )
        model.compile("adam", "mse", metrics=["mae"])
    x, y = RNG.normal(size=(2, 16, 4)).astype("float32")
    model.fit(x, y[:, :3], batch_size=16, verbose=0)
    text = model_program_text(model)
    assert all_reduces(text) == [1]


def model_program_text(model):
    from manyhands import keras_bridge
    from manyhands.engine import SpmdEngine, replicated
    from manyhands.keras_bridge import lift

    place = replicated(tuple(model.trainable_variables[0].value.sharding.device_set))
    batch = (np.zeros((16, 4), "float32"), np.zeros((16, 3), "float32"), None)
    program = SpmdEngine(place).compile(lift(model, "train"))
    state = keras_bridge.get_state(model, "train")
    return program.traced(state, program.rows.spec(batch), batch).lower().compile().as_text()
