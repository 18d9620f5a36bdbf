"""The contract with JAX's private names: this fails loudly when a new JAX changes them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.engine import jax_inside


class Ears:
    def __init__(self):
        self.heard = []

    def run(self, name, operation, arguments):
        self.heard.append((name, len(arguments)))
        return operation(*arguments)


def heard(function, *args):
    ears = Ears()
    listening = jax_inside.Listening(ears)
    listening.begin()
    try:
        given = function(*args)
    finally:
        listening.end()
    return given, [name for name, _ in ears.heard]


def test_operations_are_heard_each_time():
    """Also those of functions that JAX has compiled before, and would run without us."""
    x = jnp.arange(3.0)
    jnp.where(x > 1, x, 0)
    given, names = heard(lambda: [jnp.where(x > 1, x, 0) for _ in range(3)])
    calls = [name for name in names if name in ("jit", "pjit")]
    assert calls
    assert len(calls) % 3 == 0
    assert not any(jax_inside.is_tracer(one) for one in given)


def test_values_stay_what_they_are():
    x = jnp.arange(3.0)
    given, names = heard(jnp.sin, x)
    assert len(names) == 1
    assert type(given) is type(x)


def test_functions_with_their_own_derivative_are_heard():
    _, names = heard(jax.nn.relu, jnp.arange(3.0))
    assert any("custom_jvp" in name or name in ("jit", "pjit") for name in names)


def test_nothing_is_heard_while_paused_or_after():
    ears = Ears()
    listening = jax_inside.Listening(ears)
    listening.begin()
    with listening.paused():
        jnp.sin(jnp.ones(2))
    quiet = list(ears.heard)
    listening.end()
    jnp.sin(jnp.ones(2))
    assert ears.heard == quiet == []


def test_inside_a_trace_we_are_not_eager():
    seen = []

    def traced(x):
        seen.append((jax_inside.is_eager(), jax_inside.is_tracer(x)))
        with jax_inside.outermost():
            seen.append((jax_inside.is_eager(), jax_inside.is_tracer(jnp.ones(2) + 1)))
        return x

    jax.make_jaxpr(traced)(1.0)
    assert seen == [(False, True), (True, False)]
    assert jax_inside.is_eager()


def test_an_equation_runs_by_itself_under_its_names():
    def function(x):
        with jax.named_scope("inner"):
            return jax.nn.relu(x), jax.lax.top_k(x, 2)

    x = jnp.asarray([3.0, -1.0, 2.0])
    jaxpr = jax.make_jaxpr(function)(x).jaxpr

    def again(x):
        return [jax_inside.evaluate(equation, [x]) for equation in jaxpr.eqns]

    relu, (values, places) = jax.jit(again)(x)
    assert (relu[0].tolist(), values.tolist(), places.tolist()) == ([3, 0, 2], [3, 2], [0, 2])
    assert "inner" in jax.jit(again).lower(x).as_text(debug_info=True)


def test_a_trace_takes_an_array_as_it_is_now():
    jax_inside.install_fresh_arrays()
    for dtype in ("float32", "float64", "int64"):
        table = np.ones(3, dtype)
        first = jax.make_jaxpr(lambda x, table=table: x * table)(jnp.ones(3))
        table[1] = 5
        second = jax.make_jaxpr(lambda x, table=table: x * table)(jnp.ones(3))
        assert [np.asarray(c).tolist() for c in first.consts] == [[1, 1, 1]]
        assert [np.asarray(c).tolist() for c in second.consts] == [[1, 5, 1]]
