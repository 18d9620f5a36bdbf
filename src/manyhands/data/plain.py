"""Arrays of any make, as JAX takes them.

In: what people train on: NumPy arrays of either byte order, masked ones, matrices, pandas' tables.
Out: plain arrays with the same numbers, without a copy where there is nothing to change; a
DataError for what holds no numbers.  Whatever is no array is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from manyhands.errors import DataError, explain

_NUMBERS = "biufc"
_SHORT = {"f": np.float32, "i": np.int32}
_LONG = ("f8", "i8")
_LARGEST = {"f": 8, "c": 16}
"""Bytes of the longest numbers of a kind that JAX has; NumPy has longer ones."""


def plain(part: Any) -> Any:
    """Give an array without its mask, class and foreign byte order; its numbers stay."""
    if type(part) is np.ndarray and part.dtype.isnative:
        return part
    if isinstance(part, np.ndarray) or _is_of_pandas(part):
        return native(np.asarray(part))
    return part


def native(array: np.ndarray) -> np.ndarray:
    """Give the same numbers in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def plain_everywhere(tree: Any, change: Callable[[Any], Any] = plain) -> Any:
    """Give a nesting of arrays with each of them plain; the nesting itself where they all are."""
    if all(change(leaf) is leaf for leaf in jax.tree.leaves(tree)):
        return tree
    return _rebuilt(tree, change)


def _rebuilt(tree: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {name: _rebuilt(part, change) for name, part in tree.items()}
    if isinstance(tree, list | tuple):
        parts = [_rebuilt(part, change) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return change(tree)


def batch_for_jax(batch: Any) -> Any:
    """Give a batch as JAX takes it, or say which part of it holds no numbers."""
    for leaf in jax.tree.leaves(batch):
        check_numbers(leaf, "A batch")
    return plain_everywhere(batch)


def argument_for_jax(part: Any) -> Any:
    """Give an argument of a step as JAX takes it; what is no array of numbers stays as it is."""
    if isinstance(part, np.ndarray) and part.dtype.kind in "fcmV":
        check_numbers(part, "An array given to a step")
    is_masked = isinstance(part, np.ma.MaskedArray)  # JAX says what to do with those
    return native(part) if isinstance(part, np.ndarray) and not is_masked else part


def numbers_of(array: np.ndarray) -> np.ndarray:
    """Give an array of Python's numbers as those of TensorFlow, in 32 bits; others stay."""
    if array.dtype != object or not array.size:
        return array
    flat = array.reshape(-1).tolist()
    if not all(isinstance(one, int | float | np.number | np.bool_) for one in flat):
        return array
    found = np.array(flat).reshape(array.shape)
    return found.astype(_SHORT[found.dtype.kind]) if found.dtype.str[1:] in _LONG else found


def check_numbers(part: Any, what: str) -> None:
    """Refuse an array that holds something else than numbers, or longer ones than JAX has."""
    dtypes = _dtypes(part)
    bad = [dtype for dtype in dtypes if not _is_number(dtype)]
    if not bad:
        return
    raise DataError(
        explain(
            f"{what} has to be numbers that JAX knows. Invalid dtype: {bad[0]}.",
            got=f"{type(part).__name__} of dtype {bad[0]}, shape {np.shape(part)}",
            fix=_fix(bad[0]),
        )
    )


def _dtypes(part: Any) -> list[Any]:
    if isinstance(part, np.ndarray):
        return [part.dtype]
    if not _is_of_pandas(part):
        return []
    return list(part.dtypes) if hasattr(part, "columns") else [part.dtype]


def _is_number(dtype: Any) -> bool:
    if not isinstance(dtype, np.dtype):
        return False  # pandas' own: they may hold what is missing
    if dtype.kind in _NUMBERS:
        return dtype.itemsize <= _LARGEST.get(dtype.kind, 8)
    return dtype.kind == "V" and dtype.fields is None and dtype.isbuiltin == 2  # bfloat16, float8


def _fix(dtype: Any) -> str:
    kind = getattr(dtype, "kind", "O")
    if kind in "Mm":
        return 'turn times into numbers first, such as (x - x.min()) / np.timedelta64(1, "s").'
    if kind == "V":
        return "give each field as an array of its own: a dict of arrays, or np.stack of them."
    if kind in "US":
        return "turn text into numbers first, with keras.layers.StringLookup or .astype(float)."
    return 'convert it before: x.astype("float32"), or table.to_numpy("float32").'


def _is_of_pandas(part: Any) -> bool:
    return type(part).__module__.split(".")[0] == "pandas" and hasattr(part, "to_numpy")
