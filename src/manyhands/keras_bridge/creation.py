"""What Keras' objects are made of, and the moment a new variable is first looked at.

In: a layer, model, optimizer, metric or seed generator; a listener; host arrays for variables.
Out: the named parts of the object, by attribute and position and never by Keras' automatic names;
a call to the listener before anything sees the value of a variable made since.

tests/checkpoint/test_creation.py fails when a new Keras changes what is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.core import Tracer
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.backend.common.variables import Variable
from keras.src.models.functional import Functional
from keras.src.saving.keras_saveable import KerasSaveable

_NEW = "_manyhands_new"
_OWN = ("_trainable_variables", "_non_trainable_variables", "_variables")
_HELD = ("_layers", "_seed_generators", "_metrics")
_TRANSIENT = ("_loss_tracker", "_compile_metrics")
"""Fit's own metrics: it resets them at each epoch."""
_NOT_PARTS = frozenset(
    (
        *_OWN,
        *_HELD,
        *_TRANSIENT,
        "_trainable_variables_indices",
        "_tracker",
        "_functional",
        "_operations",
        "_operations_by_depth",
        "_nodes",
        "_nodes_by_depth",
        "_inbound_nodes",
        "_outbound_nodes",
        "_inputs",
        "_outputs",
        "_inputs_struct",
        "_outputs_struct",
        "_losses",
        "_loss_ids",
        "_compile_loss",
        "_compile_config",
        "_jax_state",
    )
)

_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes, np.ndarray, FunctionType))


def parts_of(thing: Any) -> dict[str, Any] | None:
    """Name what a Keras object is made of; None when it is not Keras'."""
    if isinstance(thing, keras.random.SeedGenerator):
        return {"state": thing.state}
    if not isinstance(thing, KerasSaveable) or isinstance(thing, Variable):
        return None
    parts = {
        name: value
        for name, value in list(vars(thing).items())
        if name not in _NOT_PARTS and not name.startswith("_manyhands")
    }
    if isinstance(thing, keras.Sequential | Functional):
        parts["layers"] = list(thing.layers)
    seen = {id(item) for name, value in parts.items() for _, item in named(name, value)}
    seen.update(id(getattr(thing, name, None)) for name in _TRANSIENT)
    lent = _OWN[:2] if isinstance(thing, keras.Optimizer) else ()  # the model's, not its own
    for store in (name for name in (*_OWN, *_HELD) if name not in lent):
        for position, item in enumerate(getattr(thing, store, None) or ()):
            if id(item) not in seen:
                parts[f"other{store}/{position}"] = item
    return parts


def named(name: str, value: Any, within: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Look through lists, tuples and dicts: give each thing in them, but plain data, by path."""
    if not isinstance(value, list | tuple | dict):
        if type(value) not in _PLAIN:
            yield name, value
    elif id(value) not in within:  # a list may hold itself
        items = list(value.items()) if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            if type(item) not in _PLAIN:
                part = str(key).replace("%", "%25").replace("/", "%2F")
                yield from named(f"{name}/{part}", item, (*within, id(value)))


def sync_model(thing: Any) -> None:
    """Write the state that `fit` carries back to the variables; fit then reads them again."""
    if isinstance(thing, keras.Model) and getattr(thing, "_jax_state", None) is not None:
        thing.jax_state_sync()


def is_tracing() -> bool:
    """Whether a step is being traced here, so that variables have no values of their own."""
    return in_stateless_scope()


def peek(variable: Any) -> Any:
    """Return a variable's array as it is, in its own dtype; None before it has one."""
    return variable._value


def is_given_away(variable: Any) -> bool:
    """Whether Keras' own `fit` has taken a variable's value, until the model is synchronised."""
    return variable._value is None and variable._initializer is None


def form_of(variable: Any) -> tuple[tuple[int, ...], str]:
    """Give the shape and dtype that a variable's value has or will have, without any autocast."""
    value = variable._value
    return tuple(variable._shape), str(variable._dtype if value is None else value.dtype)


def put(variable: Any, array: np.ndarray) -> None:
    """Give a variable a host array's value, placed as its present value is, even in a trace."""
    vars(variable).pop(_NEW, None)
    present = variable._value
    with jax.ensure_compile_time_eval():
        if present is None and variable._initializer is not None:
            value = jnp.array(array)  # made in a stateless scope: it gets its value later
            variable._initializer = lambda *_, **__: value
        elif variable._layout is not None:
            variable._direct_assign(jnp.array(array))
        else:
            variable._value = _placed_like(present, array)


def _placed_like(present: Any, array: np.ndarray) -> Any:
    if not isinstance(present, jax.Array) or isinstance(present, Tracer):
        return jnp.array(array)
    if present.committed:
        return jax.device_put(array, present.sharding)
    with jax.default_device(next(iter(present.devices()))):
        return jnp.array(array)


# the first look at a new variable

_listener: Callable[[], None] | None = None


def watch_new_variables(listener: Callable[[], None] | None) -> None:
    """From now on tell the listener before the first look at each new variable; None: nobody."""
    global _listener
    _listener = listener


def mark_new(variable: Any) -> None:
    """Remember that nobody has looked at a variable, while somebody wants to know."""
    if _listener is not None:
        vars(variable)[_NEW] = True


def look(variable: Any) -> None:
    """Tell the listener, before the first look at a variable."""
    if _NEW not in vars(variable):
        return
    del vars(variable)[_NEW]
    if _listener is None:
        return
    try:
        _listener()
    except BaseException:
        vars(variable)[_NEW] = True  # Keras swallows errors while it builds: say it again
        raise
