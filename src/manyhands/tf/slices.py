"""Assigning to a part of a variable: `v[2].assign(x)`.

In: the tensor that `v[2]` gave.  Out: the variable, changed there.
A tensor cannot carry where it came from, so that is kept beside it for as long as it lives.
"""

from __future__ import annotations

import weakref
from typing import Any

import keras
import numpy as np

_origins: dict[int, tuple[weakref.ref, keras.Variable, Any]] = {}


def part_of(variable: keras.Variable, index: Any, part: Any) -> Any:
    """Remember that a tensor is a part of a variable, and return it."""
    key = id(part)
    _origins[key] = (weakref.ref(part, lambda _: _origins.pop(key, None)), variable, index)
    return part


@property
def assign(self: Any) -> Any:
    """Changes the part of the variable that this tensor was taken from."""
    return _change(self, "assign", "set")


@property
def assign_add(self: Any) -> Any:
    """Adds to the part of the variable that this tensor was taken from."""
    return _change(self, "assign_add", "add")


@property
def assign_sub(self: Any) -> Any:
    """Subtracts from the part of the variable that this tensor was taken from."""
    return _change(self, "assign_sub", "subtract")


def _change(part: Any, word: str, how: str) -> Any:
    variable, index = _origin(part, word)

    def change(value: Any) -> Any:
        return variable.assign(getattr(variable.value.at[index], how)(_dense(value)))

    return change


def _origin(part: Any, word: str) -> tuple[keras.Variable, Any]:
    kept = _origins.get(id(part))
    if kept is None or kept[0]() is not part:
        raise AttributeError(
            f"A tensor has no {word!r}: only a tf.Variable, or a part of one (v[2].{word}(x)), "
            "can be changed."
        )
    return kept[1], kept[2]


def _dense(value: Any) -> Any:
    if isinstance(value, keras.Variable):
        return value.value
    return np.asarray(value) if isinstance(value, list | tuple) else value
