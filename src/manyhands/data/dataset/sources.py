"""Sources in memory: arrays, single elements, ranges, lists of elements.

In: arrays and values, already checked.  Out: stages that read nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.orders import Straight
from manyhands.data.dataset.spec import spec_of, without_rows
from manyhands.data.dataset.stage import UNKNOWN, IndexPlan, Rows, Stage
from manyhands.data.dataset.structure import copied, leaves, map_leaves
from manyhands.data.gather import take_rows
from manyhands.errors import DataError, explain


@dataclass(eq=False)
class Slices(Stage):
    """The rows of arrays."""

    arrays: Any

    def __post_init__(self) -> None:
        sizes = {np.shape(part)[:1] for part in leaves(self.arrays)}
        if () in sizes:
            raise DataError(
                explain(
                    "from_tensor_slices cuts arrays into rows, and a single number has none.",
                    got=f"shapes {[np.shape(part) for part in leaves(self.arrays)]}",
                    fix="use from_tensors for one element, or give arrays.",
                )
            )
        if len(sizes) != 1:
            raise DataError(
                explain(
                    "The arrays of a dataset have different numbers of rows.",
                    got=f"shapes {[np.shape(part) for part in leaves(self.arrays)]}",
                    fix="give arrays whose first dimensions are equal.",
                )
            )
        self.num_rows: int = sizes.pop()[0]

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return "from_tensor_slices"

    def length(self) -> int:
        """How many elements."""
        return self.num_rows

    def _spec(self) -> Any:
        return without_rows(spec_of(self.arrays))

    def _plan(self) -> IndexPlan:
        return IndexPlan(width=1, open=lambda _: Straight(self.num_rows), gather=self._gather)

    def _gather(self, lines: np.ndarray) -> Any:
        rows = lines[:, 0]
        if len(rows) > 1 and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            return map_leaves(lambda part: part[rows[0] : rows[-1] + 1].copy(), self.arrays)
        return map_leaves(lambda part: take_rows(part, rows), self.arrays)

    def _rows(self, run: Run) -> Rows:  # noqa: ARG002
        return Listed(_ArrayRows(self.arrays, self.num_rows))


@dataclass(eq=False)
class Range(Stage):
    """Numbers from start to stop."""

    numbers: range
    dtype: np.dtype

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"range({self.numbers.start}, {self.numbers.stop}, {self.numbers.step})"

    def length(self) -> int:
        """How many elements."""
        return len(self.numbers)

    def _spec(self) -> Any:
        return spec_of(self.dtype.type(0))

    def _plan(self) -> IndexPlan:
        return IndexPlan(width=1, open=lambda _: Straight(len(self.numbers)), gather=self._gather)

    def _gather(self, lines: np.ndarray) -> Any:
        return (lines[:, 0] * self.numbers.step + self.numbers.start).astype(self.dtype)

    def _rows(self, run: Run) -> Rows:  # noqa: ARG002
        return Listed(self.numbers, self.dtype.type)


@dataclass(eq=False)
class Elements(Stage):
    """Elements held as they are: `from_tensors`, windows."""

    elements: Sequence[Any]
    name: str = "from_tensors"
    batched: bool = False

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return self.name

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return self.batched

    def length(self) -> int:
        """How many elements."""
        return len(self.elements)

    def _spec(self) -> Any:
        return spec_of(self.elements[0]) if self.elements else ()

    def _rows(self, run: Run) -> Rows:  # noqa: ARG002
        return Listed(self.elements, copied)


class Listed(Rows):
    """A sequence from front to back."""

    def __init__(self, elements: Any, made: Any = lambda element: element) -> None:
        self._elements = elements
        self._made = made
        self._at = 0

    def __next__(self) -> Any:
        if self._at >= len(self._elements):
            raise StopIteration
        self._at += 1
        return self._made(self._elements[self._at - 1])

    def skip(self, count: int) -> int:
        """Pass over: a matter of counting."""
        done = min(count, len(self._elements) - self._at)
        self._at += done
        return done


@dataclass
class _ArrayRows:
    """Rows of arrays, each a copy: a user's function may write into its argument."""

    arrays: Any
    num_rows: int

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, row: int) -> Any:
        return copied(map_leaves(lambda part: part[row], self.arrays))


def at_most(length: int, count: int) -> int:
    """Length after taking at most `count`, where a negative count takes all."""
    if count < 0 or length == UNKNOWN:
        return length
    return count if length < 0 else min(length, count)
