"""The objects of a program as a graph: who holds whom, under which name.

In: an object.  Out: its parts that hold state, by attribute and position; the graph below it.
An object reached by two ways is one node.  Keras' automatic names (dense_1) play no part.

State is held by Keras variables, and by objects with `get_state()` and `set_state(state)`, such as
data iterators and NumPy's random generators.  Looked into are Keras layers, models, optimizers,
metrics and seed generators, lists, tuples and dicts, and objects of the program's own classes.
Numbers, strings and arrays are not state: they cannot be restored in place.
"""

from __future__ import annotations

import inspect
import sys
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import keras
import numpy as np

from manyhands.keras_bridge.creation import named, parts_of

Kind = Literal["variable", "state", "object"]

_PARTS = "_manyhands_parts"
"""A method by which our own classes name their parts."""
_FOREIGN = sys.stdlib_module_names | {
    *("absl", "flax", "grain", "jax", "jaxlib", "keras", "manyhands", "ml_dtypes", "numpy"),
    *("optax", "orbax", "pandas", "scipy", "sklearn", "tensorstore", "torch"),
}


def kind_of(thing: Any) -> Kind | None:
    """Say what a checkpoint does with a thing; None: it passes it by."""
    return _kind_of_type(type(thing))


@lru_cache(maxsize=4096)
def _kind_of_type(cls: type) -> Kind | None:
    if issubclass(cls, keras.Variable):
        return "variable"
    if issubclass(cls, keras.Layer | keras.Optimizer | keras.metrics.Metric):
        return "object"
    if issubclass(cls, keras.random.SeedGenerator) or hasattr(cls, _PARTS):
        return "object"
    if issubclass(cls, np.random.Generator) or (
        _takes(cls, "get_state", 0) and _takes(cls, "set_state", 1)
    ):
        return "state"
    return "object" if _is_of_the_program(cls) else None


def _takes(cls: type, method: str, num_arguments: int) -> bool:
    """Whether a class has this method, and it can be called with so many arguments."""
    function = getattr(cls, method, None)
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*[None] * (1 + num_arguments))
    except TypeError:
        return False
    except ValueError:
        return True  # written in C, and says nothing of its arguments
    return True


def _is_of_the_program(cls: type) -> bool:
    if issubclass(cls, type) or not cls.__dictoffset__:
        return False
    home = cls.__module__.partition(".")[0]
    return home not in _FOREIGN or hasattr(cls, "trainable_variables")


def children(thing: Any) -> dict[str, Any]:
    """Name the parts of an object that hold state or may come to."""
    own = getattr(type(thing), _PARTS, None)
    parts = own(thing) if own is not None else parts_of(thing)
    if parts is None:
        parts = dict(vars(thing))
    public = {}
    for attribute in sorted(parts, key=lambda name: name.startswith("_")):
        name = attribute.lstrip("_") or attribute
        public[attribute if name in public else name] = parts[attribute]
    return {
        path: item
        for name, value in public.items()
        for path, item in named(name, value)
        if kind_of(item) is not None
    }


@dataclass(slots=True)
class Found:
    """One object of the graph: its shortest path, and its children by their number."""

    thing: Any
    key: str
    children: dict[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> Kind | None:
        """What a checkpoint does with it."""
        return kind_of(self.thing)


def walk(root: Any, *also: Any) -> list[Found]:
    """List the objects below a root, nearest first; `also` are other names of the root."""
    found = [Found(root, "")]
    numbers = {id(thing): 0 for thing in (root, *also)}
    queue = deque([0])
    while queue:
        at = found[queue.popleft()]
        for name, child in children(at.thing).items():
            number = numbers.get(id(child))
            if number is None:
                number = numbers[id(child)] = len(found)
                found.append(Found(child, f"{at.key}/{name}" if at.key else name))
                if found[number].kind == "object":
                    queue.append(number)
            at.children[name] = number
    return found


def without_empty(found: list[Found]) -> list[Found]:
    """Leave out the objects that hold no state, and number the others anew."""
    parents: dict[int, list[int]] = {}
    for number, node in enumerate(found):
        for child in node.children.values():
            parents.setdefault(child, []).append(number)
    keep = {number for number, node in enumerate(found) if node.kind != "object"} | {0}
    stack = list(keep)
    while stack:
        for parent in parents.get(stack.pop(), ()):
            if parent not in keep:
                keep.add(parent)
                stack.append(parent)
    renumbered = {old: new for new, old in enumerate(sorted(keep))}
    return [
        Found(
            node.thing,
            node.key,
            {name: renumbered[n] for name, n in node.children.items() if n in renumbered},
        )
        for node in (found[old] for old in sorted(keep))
    ]
