"""The rows of one step, or of several, as values an engine can run.

In: host arrays in any nesting.  Out: Batch (one step), Stack (k steps of rows), Picks (k steps of
row numbers into data that is already on the devices).
Only describes rows; a RowPlacer moves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
from jax.experimental.sparse import JAXSparse

Arrays: TypeAlias = Any
"""Arrays in any nesting of tuples, lists and dicts; None stands for "not given"."""


@dataclass(frozen=True, eq=False)
class BatchSpec:
    """How many true rows each array of a batch has, and how many there are with what fills up.

    A static part of a compiled program, looked up at every launch: there is one of each, so that
    it is known by identity.

    Args:
        rows: the number of rows of each array; None for one that has none.
    """

    rows: tuple[int | None, ...]
    padded_rows: int

    def __new__(cls, rows: tuple[int | None, ...], padded_rows: int) -> BatchSpec:
        """Give the one there is."""
        return _specs.setdefault((rows, padded_rows), object.__new__(cls))

    @property
    def num_rows(self) -> int:
        """How many rows the batch has."""
        return next((count for count in self.rows if count is not None), 0)

    @property
    def carries_rows(self) -> tuple[bool, ...]:
        """Which arrays have rows."""
        return tuple(count is not None for count in self.rows)

    @property
    def pads(self) -> bool:
        """Whether there are rows that only fill up."""
        return self.padded_rows != self.num_rows


_specs: dict[Any, BatchSpec] = {}


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one step, on the devices."""

    arrays: Arrays
    spec: BatchSpec
    num_steps: int = 1


@dataclass(frozen=True, slots=True)
class Stack:
    """The rows of several steps, on the devices: every leaf leads with the step."""

    arrays: Arrays
    spec: BatchSpec
    num_steps: int


@dataclass(frozen=True, slots=True)
class Picks:
    """Row numbers of several steps, and the data they pick from, on the devices."""

    data: Arrays
    rows: jax.Array
    spec: BatchSpec

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


def rows_of(arrays: Arrays, dim: int = 0) -> tuple[int | None, ...]:
    """Find the rows of a batch: its first array counts them; those as long have rows too."""
    counts = [_rows(part, dim) for part in leaves(arrays)]
    num_rows = next((count for count in counts if count is not None), None)
    return tuple(count if count == num_rows else None for count in counts)


def _rows(part: Any, dim: int) -> int | None:
    shape = () if is_leaf(part) else getattr(part, "shape", ())
    return shape[dim] if len(shape) > dim else None


_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def array_spec(part: Any, *, num_rows: int) -> jax.ShapeDtypeStruct:
    """Describe so many rows of an array as they will be on a device."""
    dtype = str(part.dtype)
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        dtype = _NARROWED.get(dtype, dtype)
    return jax.ShapeDtypeStruct((num_rows, *part.shape[1:]), dtype)
