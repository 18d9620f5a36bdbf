"""Pad rows of different shapes to one.

In: the shapes and values a user gave.  Out: rows that can be stacked, as tf.data's padded_batch
makes them: to the largest of the batch where a dimension is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.spec import TensorSpec, as_shape
from manyhands.data.dataset.structure import TEXT, leaves, map_leaves, rebuild
from manyhands.errors import DataError, explain


@dataclass(frozen=True, slots=True)
class Padding:
    """What users gave: shapes and values, nested as the elements, or one for all."""

    shapes: Any = None
    values: Any = None

    def spec(self, rows: Any) -> Any:
        """Spec of a padded row."""
        shapes = iter(self._shapes(rows, lambda part: (None,) * len(part.shape or ())))
        return map_leaves(lambda part: TensorSpec(next(shapes), part.dtype), rows)

    def filled(self, rows: Any, size: int) -> Padding:
        """Pad to `size` wherever a dimension is None, in what was given or else in the rows."""
        shapes = self._shapes(rows, lambda part: part.shape)
        if None in shapes or not any(None in shape for shape in shapes):
            raise DataError(
                explain(
                    "Nothing says which dimensions vary, and are to be padded.",
                    got=f"shapes {shapes}",
                    fix="give padded_shapes, with None for those: padded_shapes=[None].",
                )
            )
        full = iter([tuple(size if dim is None else dim for dim in shape) for shape in shapes])
        return Padding(map_leaves(lambda _: next(full), rows), self.values)

    def padded(self, rows: list[Any]) -> Iterator[Any]:
        """Pad the rows of one batch."""
        wanted = self._shapes(rows[0], lambda leaf: (None,) * np.ndim(leaf))
        sizes = [np.array([np.shape(leaf) for leaf in column]) for column in _columns(rows)]
        shapes = [_fit(want, size) for want, size in zip(wanted, sizes, strict=True)]
        values = self._values(rows[0])
        for row in rows:
            triples = zip(leaves(row), shapes, values, strict=True)
            yield rebuild(row, iter([_pad(*triple) for triple in triples]))

    def _shapes(self, tree: Any, default: Any) -> list[Any]:
        if self.shapes is None:
            return [default(leaf) for leaf in leaves(tree)]
        try:
            return [as_shape(shape) for shape in _follow(tree, self.shapes)]
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            raise _unlike("padded_shapes", self.shapes, "[None], or [28, None]") from None

    def _values(self, tree: Any) -> list[Any]:
        if self.values is None or not isinstance(self.values, (tuple, dict)):
            return [self.values for _ in leaves(tree)]
        try:
            return _follow(tree, self.values)
        except (TypeError, ValueError, KeyError):
            raise _unlike("padding_values", self.values, "0.0") from None


def _unlike(name: str, given: Any, example: str) -> DataError:
    return DataError(
        explain(
            f"{name} has to be nested as the elements are.",
            got=f"{name}={given!r}",
            fix=f"give each part of the elements its own, such as {example}, or leave it out.",
        )
    )


def _follow(tree: Any, given: Any) -> list[Any]:
    """Parts of what was given, in the places of the tree's leaves."""
    if isinstance(tree, dict):
        return [part for name in tree for part in _follow(tree[name], given[name])]
    if isinstance(tree, tuple):
        pairs = zip(tree, given, strict=True)
        return [part for one, other in pairs for part in _follow(one, other)]
    return [given]


def _columns(rows: list[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(leaves(row) for row in rows), strict=True))


def _fit(want: Any, sizes: np.ndarray) -> tuple[int, ...]:
    largest = sizes.max(axis=0, initial=0) if sizes.size else np.zeros(sizes.shape[1], int)
    want = (None,) * len(largest) if want is None else want
    if len(want) != len(largest):
        raise _misfit(want, largest)
    shape = tuple(int(b if a is None else a) for a, b in zip(want, largest, strict=True))
    if any(a < b for a, b in zip(shape, largest, strict=True)):
        raise _misfit(want, largest)
    return shape


def _misfit(want: Any, largest: np.ndarray) -> DataError:
    return DataError(
        explain(
            "A row is larger than the shape it should be padded to.",
            got=f"padded_shapes {want}, a row of up to {tuple(largest.tolist())}",
            fix="give larger padded_shapes, or None for the largest of each batch.",
        )
    )


def _pad(leaf: Any, shape: tuple[int, ...], value: Any) -> Any:
    if np.shape(leaf) == shape:
        return leaf
    if leaf.dtype == TEXT:
        value = b"" if value is None else value.encode() if isinstance(value, str) else value
    out = np.full(shape, 0 if value is None else value, leaf.dtype)
    out[tuple(slice(0, size) for size in np.shape(leaf))] = leaf
    return out
