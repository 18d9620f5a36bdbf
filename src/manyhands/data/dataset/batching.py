"""Stages that put rows together or take them apart: batch, padded_batch, unbatch.

In: a stage and a size.  Out: batches; over arrays with one gather each, over traceable maps of
other sources with one compiled call each, otherwise by stacking rows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.mapping import Map, MappedRows
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.padding import Padding
from manyhands.data.dataset.spec import with_rows, without_rows
from manyhands.data.dataset.stage import UNKNOWN, IndexPlan, Rows, Stage, split
from manyhands.data.dataset.structure import TEXT, leaves, map_leaves
from manyhands.errors import DataError, explain

_MOST_AT_ONCE = 8
_GROUP_BYTES = 4 * 2**20
"""Small batches are read ahead several at a time: waking a thread costs as much as a gather."""


@dataclass(eq=False)
class Batch(Stage):
    """So many elements in one; padded to one shape where `padding` says so."""

    parent: Stage
    size: int
    drop_remainder: bool
    padding: Padding | None = None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"{'padded_' if self.padding else ''}batch({self.size})"

    @property
    def way(self) -> str:
        """How it runs."""
        if self.padding is None and self.parent.plan is not None:
            return "index (one gather a batch)"
        return "traced with the map before it" if self._fuses() else "rows"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return True

    def length(self) -> int:
        """How many elements."""
        rows = self.parent.length()
        if rows < 0:
            return rows
        return rows // self.size if self.drop_remainder else -(-rows // self.size)

    def _spec(self) -> Any:
        row = self.parent.spec if self.padding is None else self.padding.spec(self.parent.spec)
        return with_rows(row, self.size if self.drop_remainder else None)

    def _rows(self, run: Run) -> Rows:
        if self.padding is not None:
            return StackedRows(self, self.parent.rows(run))
        if not run.only_rows and self.parent.plan is not None:
            return GatheredBatches(self, self.parent.plan, run)
        rows = self.parent.rows(run)
        if not run.only_rows and isinstance(self.parent, Map) and not self.parent.is_batched:
            assert isinstance(rows, MappedRows)
            return MappedBatches(self, self.parent, rows)
        return StackedRows(self, rows)

    def _fuses(self) -> bool:
        if not isinstance(self.parent, Map) or self.parent.is_batched or self.padding is not None:
            return False
        decision = self.parent.decision
        return decision is not None and decision.traced is not None


class GatheredBatches(Rows):
    """One gather a batch."""

    def __init__(self, stage: Batch, plan: IndexPlan, run: Run) -> None:
        self._stage = stage
        self._plan = plan
        self._order = plan.open(run)
        self._num_taken = 0

    def __next__(self) -> Any:
        size = self._stage.size
        lines = self._order.take(size)
        if not len(lines) or (self._stage.drop_remainder and len(lines) < size):
            raise StopIteration
        return self._plan.batch(lines, size)

    def next_few(self) -> list[Any]:
        """Gather several small batches at once, and cut them apart."""
        first = next(self)
        self._num_taken += 1
        if self._plan.is_traced or self._num_taken == 1:  # the first is waited for
            return [first]
        size, row_bytes = self._stage.size, sum(part[:1].nbytes for part in leaves(first))
        wanted = min(_MOST_AT_ONCE, _GROUP_BYTES // max(1, size * row_bytes))
        lines = self._order.take(size * wanted)
        num_rows = len(lines) - (len(lines) % size if self._stage.drop_remainder else 0)
        if not num_rows:
            return [first]
        rows = self._plan.batch(lines[:num_rows], num_rows)
        cuts = [slice(start, start + size) for start in range(0, num_rows, size)]
        return [first, *(map_leaves(lambda part, cut=cut: part[cut], rows) for cut in cuts)]

    def skip(self, count: int) -> int:
        """Pass over row numbers."""
        return _batches(self._order.skip(count * self._stage.size), self._stage)


class StackedRows(Over):
    """Rows put together as they come."""

    def __init__(self, stage: Batch, source: Rows) -> None:
        super().__init__(source)
        self._stage = stage

    def __next__(self) -> Any:
        rows = list(itertools.islice(self._source, self._stage.size))
        if not rows or (self._stage.drop_remainder and len(rows) < self._stage.size):
            raise StopIteration
        padding = self._stage.padding
        return stack(rows) if padding is None else stack([*padding.padded(rows)])

    def skip(self, count: int) -> int:
        """Pass over rows."""
        return _batches(self._source.skip(count * self._stage.size), self._stage)


class MappedBatches(Over):
    """Rows of any source, mapped by one compiled call for a batch of them."""

    def __init__(self, stage: Batch, mapped: Map, rows: MappedRows) -> None:
        super().__init__(rows)
        self._stage = stage
        self._map = mapped
        self._rows = rows

    def __next__(self) -> Any:
        size = self._stage.size
        work: list[Any] = []
        if self._map.decision is None:  # the first row decides
            work.append(self._rows.read())
            self._map.settle(*work[0])
        decision = self._map.decision
        assert decision is not None
        if decision.traced is None:
            out = [self._map.apply(*each, plainly=False) for each in work]
            out += itertools.islice(self._rows, size - len(out))
            return self._finish(out)
        work += itertools.islice(iter(self._rows.read_or_none, None), size - len(work))
        if not work or (self._stage.drop_remainder and len(work) < size):
            raise StopIteration
        block = self._map.apply_block(work, size)
        if block is None:
            return stack([self._map.apply(*each, plainly=True) for each in work])
        return block

    def _finish(self, rows: list[Any]) -> Any:
        if not rows or (self._stage.drop_remainder and len(rows) < self._stage.size):
            raise StopIteration
        return stack(rows)

    def skip(self, count: int) -> int:
        """Pass over rows without mapping them."""
        return _batches(self._rows.skip(count * self._stage.size), self._stage)


@dataclass(eq=False)
class Unbatch(Stage):
    """The rows of each element."""

    parent: Stage

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return "unbatch()"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return False

    def length(self) -> int:
        """How many elements."""
        whole = self.parent.length()
        sizes = {part.shape[0] for part in leaves(self.parent.spec) if part.shape}
        if whole < 0 or len(sizes) != 1 or None in sizes:
            return whole if whole == -1 else UNKNOWN
        return whole * sizes.pop()

    def _spec(self) -> Any:
        return without_rows(self.parent.spec)

    def _rows(self, run: Run) -> Rows:
        return UnbatchedRows(self.parent.rows(run))


class UnbatchedRows(Over):
    """The rows of one element after another."""

    def __init__(self, source: Rows) -> None:
        super().__init__(source)
        self._ready: Any = iter(())

    def __next__(self) -> Any:
        for row in self._ready:
            return row
        batch = next(self._source)
        sizes = {np.shape(leaf)[:1] for leaf in leaves(batch)}
        if len(sizes) != 1 or () in sizes:
            raise DataError(
                explain(
                    "unbatch needs elements whose parts have one number of rows.",
                    got=f"shapes {[np.shape(leaf) for leaf in leaves(batch)]}",
                    fix="unbatch what batch made, or map the parts to arrays of equal length.",
                )
            )
        self._ready = split(batch, sizes.pop()[0])
        return next(self)


def stack(rows: list[Any]) -> Any:
    """Put rows together as one batch."""
    return map_leaves(lambda *parts: _stack(parts), *rows)


def _stack(parts: tuple[Any, ...]) -> Any:
    first = parts[0]
    if isinstance(first, bytes) or first.dtype == TEXT:
        out = np.empty(len(parts), TEXT)
        out[:] = parts if isinstance(first, bytes) else list(parts)
        if isinstance(first, bytes):
            return out
        return np.stack(parts)
    try:
        return np.array(parts, first.dtype) if first.ndim == 0 else np.stack(parts)
    except ValueError as error:
        raise DataError(
            explain(
                "Rows of different shapes cannot be put into one batch.",
                got=f"shapes {sorted({np.shape(part) for part in parts})}",
                fix="use padded_batch, or map the rows to one shape before batch.",
            )
        ) from error


def _batches(num_rows: int, stage: Batch) -> int:
    return num_rows // stage.size if stage.drop_remainder else -(-num_rows // stage.size)
