"""Elements: nested tuples and dicts whose leaves are arrays, scalars or bytes.

In: whatever a user hands over.  Out: the same nesting with NumPy leaves, and ways to walk it.
Lists are leaves, as in tf.data.  Dicts keep the user's order of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from manyhands.data.plain import check_numbers, native, numbers_of
from manyhands.errors import DataError, explain

TEXT = np.dtype(object)
"""Text and bytes are object arrays of `bytes`, as tf.data gives them."""


def leaves(tree: Any) -> list[Any]:
    """List the leaves from left to right."""
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to each leaf, and to the leaves in the same place of the others."""
    if isinstance(tree, dict):
        return {
            name: map_leaves(function, part, *(other[name] for other in others))
            for name, part in tree.items()
        }
    if isinstance(tree, tuple):
        parts = [map_leaves(function, *group) for group in zip(tree, *others, strict=True)]
        return _like(tree, parts)
    return function(tree, *others)


def rebuild(tree: Any, new_leaves: Iterator[Any]) -> Any:
    """Put new leaves in the places of the old."""
    return map_leaves(lambda _: next(new_leaves), tree)


def copied(element: Any) -> Any:
    """Copy the arrays, for whoever may write into them."""
    return map_leaves(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, element)


def same_nesting(one: Any, other: Any) -> bool:
    """Whether two elements are nested alike."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same_nesting(one[name], other[name]) for name in one)
        )
    if isinstance(one, tuple):
        return (
            isinstance(other, tuple)
            and len(one) == len(other)
            and all(same_nesting(a, b) for a, b in zip(one, other, strict=True))
        )
    return not isinstance(other, (dict, tuple))


def as_element(value: Any) -> Any:
    """Turn what a user or a function gave into an element."""
    if type(value) is np.ndarray and value.dtype.kind in "biufc":
        return native(value)
    if isinstance(value, dict):
        return {name: as_element(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return _like(value, [as_element(part) for part in value])
    return as_leaf(value)


def as_leaf(value: Any) -> Any:
    """Turn one value into a NumPy leaf, with TensorFlow's types for Python numbers."""
    if isinstance(value, bytes) or (isinstance(value, np.generic) and value.dtype.kind not in "US"):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return np.float32(value)
    if getattr(value, "is_dataset_leaf", False) and not isinstance(value, type):  # windows
        return value
    array = numbers_of(_as_array(value))
    if isinstance(value, (list, tuple, range)) and _is_plain(value):
        array = _narrow(array)
    return _as_text(array) if array.dtype.kind in "USO" else _checked(native(array))


def _checked(array: np.ndarray) -> np.ndarray:
    """Refuse what no tensor can hold: times, records."""
    if array.dtype.kind in "mM" or array.dtype.fields is not None:
        check_numbers(array, "A dataset's element")
    return array


def _whole(value: int) -> Any:
    if -(2**31) <= value < 2**31:
        return np.int32(value)
    if -(2**63) <= value < 2**63:
        return np.int64(value)
    raise DataError(
        explain(
            "A whole number is too large for 64 bits.",
            got=f"a number of {value.bit_length()} bits",
            fix="give it as a float, or as text.",
        )
    )


def _as_array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise DataError(
            explain(
                "A value cannot be made into an array.",
                got=f"{type(value).__name__}: {error}",
                fix="give arrays of one shape, or use from_generator for rows of many shapes.",
            )
        ) from error


def _is_plain(value: Any) -> bool:
    while isinstance(value, (list, tuple, range)):
        if not len(value):
            return True
        value = value[0]
    return isinstance(value, (int, float)) and not isinstance(value, np.generic)


def _narrow(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64 and (not array.size or np.abs(array).max() < 2**31):
        return array.astype(np.int32)
    return array


def _as_text(array: np.ndarray) -> Any:
    flat = [_as_bytes(part) for part in array.reshape(-1).tolist()]
    odd = next((part for part in flat if not isinstance(part, bytes)), None)
    if odd is not None or None in flat:
        raise DataError(
            explain(
                "A dataset's element has to be numbers or text.",
                got=f"an array of objects, one of them {type(odd).__name__}",
                fix="give arrays of one dtype; rows of many shapes come from from_generator.",
            )
        )
    if array.ndim == 0:
        return flat[0]
    out = np.empty(len(flat), TEXT)
    out[:] = flat
    return out.reshape(array.shape)


def _as_bytes(part: Any) -> Any:
    return part.encode() if isinstance(part, str) else part


def _like(tree: tuple[Any, ...], parts: list[Any]) -> tuple[Any, ...]:
    kind = type(tree)
    return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
