"""Keras' variables: who is alive, who reads them, and how they are made while a step is traced.

In: a listener for reads.  Out: the live variables, and Keras' Variable class taught three things:
it is listed when made, it tells when it is read, and it is made outside of a step's trace.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from keras.src.backend.common import global_state
from keras.src.backend.common.stateless_scope import get_stateless_scope
from keras.src.backend.common.variables import Variable
from keras.src.backend.jax.core import JaxVariable

from manyhands.engine.jax_inside import outermost

_live: dict[int, weakref.ref[Any]] = {}


def live_variables() -> list[Any]:
    """List every variable made since `install_variables`, oldest first."""
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


def install_variables(
    *,
    on_read: Callable[[Any, Any], None],
    on_write: Callable[[Any], Any],
    is_step: Callable[[Any], bool],
) -> None:
    """Teach Keras' Variable class, once a process.

    `on_read` is told of each read outside of any scope, `on_write` may change what is written
    there; `is_step` says whether a scope is a step's.
    """
    if getattr(Variable, "_manyhands_installed", False):
        return
    setattr(Variable, "_manyhands_installed", True)  # noqa: B010
    init_original, value_original = Variable.__init__, vars(Variable)["value"].fget

    @functools.wraps(init_original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if _enclosing_step(get_stateless_scope(), is_step) is not None:
            with outside_of_steps():
                init_original(self, *args, **kwargs)
        else:
            init_original(self, *args, **kwargs)
        list_variable(self)

    @functools.wraps(value_original)
    def value(self: Any) -> Any:
        scope = get_stateless_scope()
        if scope is not None and is_step(scope):
            return value_original(self)
        mapped = None if scope is None else scope.get_current_value(self)
        step = _enclosing_step(scope, is_step) if mapped is None else None
        if step is not None:
            return self._maybe_autocast(step.get_current_value(self))
        if mapped is not None or self._value is not None:
            on_read(self, self._value if mapped is None else mapped)
        return value_original(self)

    write_original = JaxVariable._direct_assign

    @functools.wraps(write_original)
    def _direct_assign(self: Any, value: Any) -> None:
        write_original(self, on_write(value))

    setattr(JaxVariable, "_direct_assign", _direct_assign)  # noqa: B010
    Variable.__init__ = __init__
    setattr(Variable, "value", property(value))  # noqa: B010


def _enclosing_step(scope: Any, is_step: Callable[[Any], bool]) -> Any:
    """Find the step around a scope that Keras opened inside it."""
    while scope is not None and not is_step(scope):
        scope = getattr(scope, "original_scope", None)
    return scope


def set_value(variable: Any, value: Any) -> None:
    """Give a variable an array of its own shape and dtype, as it is."""
    variable._value = value


def value_of(variable: Any) -> Any:
    """Return a variable's array as it is; None before it has one."""
    return variable._value
