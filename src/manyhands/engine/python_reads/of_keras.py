"""What Keras' own functions read from the objects they belong to: layers, losses, optimizers.

In: objects of Keras whose functions ran, and what those functions name.  Out: watches, with what
the objects hold now.
How Keras works inside (its trackers, locks, lists of variables) is not what a program changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np
from keras.src.backend.common import global_state

from manyhands.engine.python_reads.owners import is_programs
from manyhands.engine.python_reads.watches import Array, Fields, Items, Kind, OfMany, State

_BOOKKEEPING = {
    "_losses", "_loss_ids", "_called", "_metrics", "_post_track_variable", "_lock", "_tracker",
    "_call_signature", "_call_context_args", "_parent_path", "_allow_non_tensor_positional_args",
    "_call_has_context_arg", "_call_has_training_arg", "_call_has_mask_arg", "_losses_override",
    "_convert_input_args", "_input_spec", "_seed_generators",
}  # fmt: skip
_OF_A_VARIABLE = ("_trainable", "_regularizer", "_constraint", "_autocast")
_CALLED = {"call", "__call__", "build", "update_step", "update_state", "result", "compute_loss"}
"""Methods that Keras calls on a program's behalf."""
KINDS = (
    keras.Operation,
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.optimizers.Optimizer,
    keras.optimizers.schedules.LearningRateSchedule,
    keras.initializers.Initializer,
    keras.regularizers.Regularizer,
    keras.constraints.Constraint,
    keras.dtype_policies.DTypePolicy,
    keras.random.SeedGenerator,
)
"""Objects of Keras that people set attributes on."""


def watches_of_keras(noted: Iterable[tuple[Any, set[str]]]) -> Iterator[Any]:
    """Watch what was read from each object, and the classes of all of them."""
    noted = list(noted)
    variables = [of for of, _ in noted if isinstance(of, keras.Variable)]
    yield from (OfMany(variables, name) for name in _OF_A_VARIABLE if variables)
    named: dict[type, set[str]] = {}
    for of, names in noted:
        if isinstance(of, KINDS):
            yield Kind(of)
            yield from _fields(of, names - _BOOKKEEPING)
            for kind in type(of).__mro__:
                named.setdefault(kind, set()).update(names)
    for kind, names in named.items():
        yield from _class(kind, names)


def watch_of_seeds() -> Any:
    """Watch which seed generator is the program's: `set_random_seed` makes another."""
    return State("the program's seed generator", _program_generator)


def _program_generator() -> Any:
    return global_state.get_global_attribute("global_seed_generator")


def _fields(of: Any, names: set[str]) -> Iterator[Any]:
    held = vars(of)
    own = {name for kind in type(of).__mro__ if is_programs(kind) for name in vars(kind)}
    fields = Fields(of, held)
    if not isinstance(of, keras.layers.Layer):  # of which there are many: people patch `call`
        own |= {name for name in names if callable(getattr(type(of), name, None))}
    fields.add(name for name in names | {"call"} if name in held or name in own | {"call"})
    yield fields
    for name in names & held.keys():
        if held[name] is not None and not (name.startswith("_") and _is_empty(held[name])):
            yield from _inside([held[name]])


def _is_empty(value: Any) -> bool:
    return isinstance(value, list | dict | set) and len(value) == 0


def _class(kind: type, names: set[str]) -> Iterator[Any]:
    """Watch the methods of a class that Keras calls, and what else a program's class brings."""
    read = names | _CALLED if is_programs(kind) else _CALLED
    there = read & vars(kind).keys()
    if there and kind.__module__ != "builtins":
        fields = Fields(kind, vars(kind))
        values = fields.add(there)
        yield fields
        yield from _inside(values)


def _inside(values: Iterable[Any]) -> Iterator[Any]:
    """Watch containers and arrays on Keras' objects, at any depth."""
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            yield Array(value)
        elif isinstance(value, list | dict | set):
            items = Items(value)
            yield items
            waiting.extend(items.values())
        elif isinstance(value, tuple):
            waiting.extend(value)
