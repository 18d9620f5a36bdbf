"""Branches and loops whose condition is not known while a step is traced.

In: a condition and functions that may write variables.  Out: what the chosen one gives, with its
variables written.  Where the condition is known, it is plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras

from manyhands.engine.jax_inside import is_tracer
from manyhands.keras_bridge.step_scope import InnerScope, innermost_scope


def branch(condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
    """Run one of two functions."""
    if not is_tracer(condition):
        return if_true() if bool(condition) else if_false()
    around = innermost_scope()
    if around is None:
        return jax.lax.cond(jnp.asarray(condition, bool), if_true, if_false)
    written: dict[int, Any] = {}

    def tried(function: Callable[[], Any]) -> Any:
        scope = InnerScope(around)
        with scope:
            given = _values(function())
        written.update(scope.written)
        return given

    def run(function: Callable[[], Any]) -> Any:
        scope = InnerScope(around)
        with scope:
            given = jax.tree.map(jnp.asarray, _values(function()))
        return given, [scope.get_current_value(variable) for variable in written.values()]

    for function in (if_true, if_false):
        jax.eval_shape(lambda function=function: tried(function))
    given, new = jax.lax.cond(
        jnp.asarray(condition, bool), lambda: run(if_true), lambda: run(if_false)
    )
    for variable, value in zip(written.values(), new, strict=True):
        around.add_update((variable, value))
    return given


def _values(given: Any) -> Any:
    """Take variables for their values."""
    return jax.tree.map(lambda g: g.value if isinstance(g, keras.Variable) else g, given)


def loop(condition: Callable[..., Any], body: Callable[..., Any], values: Any) -> Any:
    """Run a body while a condition holds; the values go round."""
    first = condition(*values)
    if is_tracer(first):
        return jax.lax.while_loop(
            lambda held: jnp.asarray(condition(*held), bool).reshape(()),
            lambda held: _like(body(*held), held),
            jax.tree.map(jnp.asarray, tuple(values)),
        )
    while bool(first):
        values = body(*values)
        values = values if isinstance(values, list | tuple) else (values,)
        first = condition(*values)
    return values


def _like(given: Any, held: Any) -> Any:
    given = tuple(given) if isinstance(given, list | tuple) else (given,)
    return jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), given, held)
