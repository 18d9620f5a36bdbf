"""Parse tf.train.Example records into elements.

In: serialised examples and what features to look for.  Out: a dict of arrays.  A FixedLenFeature
gives its shape; a VarLenFeature gives a `SparseValues`: in one example its values in order, in a
batch of examples the values of all rows end to end with each value's row and place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.example import BytesList, FloatList, Int64List, parse_features
from manyhands.data.dataset.randomness import NotTraceable
from manyhands.data.dataset.spec import as_dtype, as_shape
from manyhands.data.dataset.structure import TEXT, as_leaf
from manyhands.errors import DataError, explain

_KINDS = {"O": BytesList.number, "f": FloatList.number, "i": Int64List.number}


@dataclass(frozen=True)
class FixedLenFeature:
    """A feature of fixed shape."""

    shape: Any
    dtype: Any
    default_value: Any = None


@dataclass(frozen=True)
class VarLenFeature:
    """A feature of any number of values."""

    dtype: Any


@dataclass(frozen=True, eq=False)
class SparseValues:
    """Values with their places, as a SparseTensor has them."""

    indices: np.ndarray
    values: np.ndarray
    dense_shape: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Where it leaves a map function it is dense: an element has arrays only."""
        return self.to_dense() if dtype is None else self.to_dense().astype(dtype)

    def to_dense(self, default_value: Any = None) -> np.ndarray:
        """Lay the values out in an array; what is missing is zero, or empty text."""
        text = self.values.dtype == TEXT
        missing = (b"" if text else 0) if default_value is None else as_leaf(default_value)
        out = np.full(tuple(self.dense_shape), missing, self.values.dtype)
        out[tuple(self.indices.T)] = self.values
        return out


def parse_single_example(serialized: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """Parse one record."""
    found = parse_features(_as_bytes(serialized))
    return {name: _parsed(found, name, want) for name, want in sorted(features.items())}


def parse_example(serialized: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """Parse a batch of records."""
    records = [parse_features(_as_bytes(one)) for one in np.asarray(serialized, object).reshape(-1)]
    return {name: _together(records, name, want) for name, want in sorted(features.items())}


def _as_bytes(serialized: Any) -> bytes:
    if hasattr(serialized, "aval"):
        raise NotTraceable("records are parsed in Python")
    serialized = serialized.numpy() if hasattr(serialized, "numpy") else serialized
    return serialized.item() if isinstance(serialized, np.ndarray) else bytes(serialized)


def _together(records: list[Any], name: str, want: Any) -> Any:
    parts = [_parsed(found, name, want) for found in records]
    if isinstance(want, FixedLenFeature):
        if parts and isinstance(parts[0], bytes):
            return np.array(parts, TEXT)
        dtype = as_dtype(want.dtype)
        return np.stack(parts) if parts else np.empty((0, *_shape(want)), dtype)
    sizes = [len(part.values) for part in parts]
    rows = np.repeat(np.arange(len(parts)), sizes)
    places = np.concatenate([np.arange(size) for size in sizes] or [np.empty(0)])
    values = [part.values for part in parts] or [np.empty(0, as_dtype(want.dtype))]
    return SparseValues(
        np.stack([rows, places], axis=1).astype(np.int64),
        np.concatenate(values),
        np.array([len(parts), max(sizes, default=0)], np.int64),
    )


def _parsed(found: dict[str, Any], name: str, want: Any) -> Any:
    dtype = as_dtype(want.dtype)
    number, values = found.get(name, (0, []))
    if number not in (0, _KINDS.get(dtype.kind, -1)):
        raise _wrong(name, want, "another kind of values")
    array = np.empty(len(values), dtype)
    array[:] = values
    if isinstance(want, VarLenFeature):
        size = np.array([len(array)], np.int64)
        return SparseValues(np.arange(len(array))[:, None], array, size)
    if not isinstance(want, FixedLenFeature):
        raise _wrong(name, want, f"a {type(want).__name__}, which is not supported")
    shape = _shape(want)
    if not number:
        if want.default_value is None:
            raise _wrong(name, want, "no such feature in the record, and no default")
        default = np.asarray(as_leaf(want.default_value), dtype)
        return np.broadcast_to(default, shape).copy()[()]
    size = math.prod(shape)
    if len(array) != size:
        raise _wrong(name, want, f"{len(array)} values where shape {shape} needs {size}")
    return array.reshape(shape)[()]


def _shape(want: FixedLenFeature) -> tuple[int, ...]:
    return tuple(-1 if dim is None else dim for dim in as_shape(want.shape) or ())


def _wrong(name: str, want: Any, got: str) -> DataError:
    return DataError(
        explain(
            f"The feature {name!r} is not in the record as it was described.",
            got=got,
            fix=f"change {want!r} to what was written, or give it a default_value.",
        )
    )
