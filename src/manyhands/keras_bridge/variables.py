"""Keras' variables: who is alive, and their arrays as they are."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keras.src.backend.common import global_state
from keras.src.backend.common.stateless_scope import get_stateless_scope

from manyhands.engine.jax_inside import outermost

_live: dict[int, weakref.ref[Any]] = {}


def live_variables() -> list[Any]:
    """List every variable made since `install`, oldest first."""
    return [variable for ref in list(_live.values()) if (variable := ref()) is not None]


def list_variable(variable: Any) -> None:
    """Count a variable among the live ones."""
    key = id(variable)
    if key not in _live:
        _live[key] = weakref.ref(variable, lambda _: _live.pop(key, None))


@contextmanager
def outside_of_steps() -> Iterator[None]:
    """Do what is inside at once, as if no step were being traced around it."""
    scope = get_stateless_scope()
    global_state.set_global_attribute("stateless_scope", None)
    try:
        with outermost():
            yield
    finally:
        global_state.set_global_attribute("stateless_scope", scope)


def set_value(variable: Any, value: Any) -> None:
    """Give a variable an array of its own shape and dtype, as it is."""
    variable._value = value


def value_of(variable: Any) -> Any:
    """Return a variable's array as it is; None before it has one."""
    return variable._value
