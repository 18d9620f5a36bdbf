"""Keras' variables, taught: listed when made, heard when read, made outside of a step's trace.

In: Keras' Variable class.  Out: the same, and tapes, steps and restored checkpoints hear of it.
"""

from __future__ import annotations

import functools
from typing import Any

from keras.src.backend.common.stateless_scope import get_stateless_scope
from keras.src.backend.common.variables import Variable
from keras.src.backend.jax.core import JaxVariable

from manyhands.engine.tape import note_read, settled
from manyhands.keras_bridge.creation import look, mark_new
from manyhands.keras_bridge.patching import Patch
from manyhands.keras_bridge.step_scope import is_step
from manyhands.keras_bridge.variables import list_variable, outside_of_steps


def _init(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if _enclosing_step(get_stateless_scope()) is not None:
            with outside_of_steps():
                original(self, *args, **kwargs)
        else:
            original(self, *args, **kwargs)
        list_variable(self)
        mark_new(self)

    return __init__


def _value(original: Any) -> Any:
    read = original.fget

    @functools.wraps(read)
    def value(self: Any) -> Any:
        look(self)
        scope = get_stateless_scope()
        if scope is not None and is_step(scope):
            return read(self)
        mapped = None if scope is None else scope.get_current_value(self)
        step = _enclosing_step(scope) if mapped is None else None
        if step is not None:
            return self._maybe_autocast(step.get_current_value(self))
        if mapped is not None or self._value is not None:
            note_read(self, self._value if mapped is None else mapped)
        return read(self)

    return property(value)


def _assign(original: Any) -> Any:
    @functools.wraps(original)
    def assign(self: Any, value: Any) -> Any:
        look(self)  # what is assigned comes after what is restored
        return original(self, value)

    return assign


def _direct_assign(original: Any) -> Any:
    @functools.wraps(original)
    def _direct_assign(self: Any, value: Any) -> None:
        original(self, settled(value))

    return _direct_assign


def _enclosing_step(scope: Any) -> Any:
    """Find the step around a scope that Keras opened inside it."""
    while scope is not None and not is_step(scope):
        scope = getattr(scope, "original_scope", None)
    return scope


PATCHES = [
    Patch(Variable, "__init__", _init, "variables are listed, and made outside of steps"),
    Patch(Variable, "value", _value, "tapes and steps hear of reads"),
    Patch(Variable, "assign", _assign, "what a checkpoint holds comes before what is assigned"),
    Patch(JaxVariable, "_direct_assign", _direct_assign, "what a tape recorded is settled"),
]
