"""The rows of one step, or of several, as values an engine can run.

In: host arrays in any nesting.  Out: Batch (one step), Stack (k steps of rows), Picks (k steps of
row numbers into data that is already on the devices).
Only describes rows; `Program.place_*` moves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.experimental.sparse import JAXSparse

Arrays: TypeAlias = Any
"""Arrays in any nesting of tuples, lists and dicts; None stands for "not given"."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Which leaves carry rows, how many rows are real, and to how many they are padded.

    Hashable, because it is a static part of a compiled program.
    """

    num_rows: int
    padded_rows: int
    carries_rows: tuple[bool, ...]

    @property
    def pads(self) -> bool:
        """Whether there are rows that only fill up the last device."""
        return self.padded_rows != self.num_rows


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one step, on the devices."""

    arrays: Arrays
    layout: RowLayout
    num_steps: int = 1


@dataclass(frozen=True, slots=True)
class Stack:
    """The rows of several steps, on the devices: every leaf leads with the step."""

    arrays: Arrays
    layout: RowLayout
    num_steps: int


@dataclass(frozen=True, slots=True)
class Picks:
    """Row numbers of several steps, and the data they pick from, on the devices."""

    data: Arrays
    rows: jax.Array
    layout: RowLayout

    @property
    def num_steps(self) -> int:
        """How many steps the row numbers are for."""
        return self.rows.shape[0]


Batches: TypeAlias = Batch | Stack | Picks


def is_leaf(value: object) -> bool:
    """Take a sparse array as one thing: the arrays inside it are not rows."""
    return isinstance(value, JAXSparse)


def leaves(arrays: Arrays) -> list[Any]:
    """List the arrays of a nesting, in JAX's order."""
    return jax.tree.leaves(arrays, is_leaf=is_leaf)


def rebuild(arrays: Arrays, new: list[Any]) -> Arrays:
    """Put new leaves into the nesting of `arrays`."""
    return jax.tree.unflatten(jax.tree.structure(arrays, is_leaf=is_leaf), new)


def layout_of(arrays: Arrays, pad_to: int) -> RowLayout:
    """Find the rows of a batch: its first array's first dim counts them."""
    parts = leaves(arrays)
    num_rows = next((_rows(part) for part in parts if _rows(part) is not None), None)
    if num_rows is None:
        return RowLayout(0, 0, (False,) * len(parts))
    padded = -(-num_rows // pad_to) * pad_to
    return RowLayout(num_rows, padded, tuple(_rows(part) == num_rows for part in parts))


def _rows(part: Any) -> int | None:
    if is_leaf(part) or not getattr(part, "shape", ()):
        return None
    return part.shape[0]


def pad_rows(part: Any, padded_rows: int, dim: int = 0) -> Any:
    """Fill up one array's rows; what fills is cut off again before anything sees it."""
    missing = padded_rows - part.shape[dim]
    if not missing:
        return part
    width = [(0, 0)] * part.ndim
    width[dim] = (0, missing)
    return (jax.numpy if isinstance(part, jax.Array) else np).pad(part, width)


_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def spec_of(part: Any, *, num_rows: int) -> jax.ShapeDtypeStruct:
    """Describe so many rows of an array as they will be on a device."""
    dtype = str(part.dtype)
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        dtype = _NARROWED.get(dtype, dtype)
    return jax.ShapeDtypeStruct((num_rows, *part.shape[1:]), dtype)
