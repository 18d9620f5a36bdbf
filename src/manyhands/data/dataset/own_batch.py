"""A batch of which only some rows are read: those of one process.

In: a stage of rows, the global batch size, and which rows of a batch are ours.  Out: our rows, with
the number of rows of the whole batch; rows of other processes are passed over, not read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.batching import Batch, stack
from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.spec import with_rows
from manyhands.data.dataset.stage import IndexPlan, Rows
from manyhands.data.dataset.structure import map_leaves


class Part(tuple):
    """Our rows of a batch, and how many rows the whole has."""

    __slots__ = ()


@dataclass(eq=False, kw_only=True)
class OwnBatch(Batch):
    """Our rows of each batch."""

    share: Callable[[int], slice]

    def _spec(self) -> Any:
        return with_rows(self.parent.spec, None)

    def _rows(self, run: Run) -> Rows:
        if not run.only_rows and self.parent.plan is not None:
            return OwnGathered(self, self.parent.plan, run)
        return OwnStacked(self, self.parent.rows(run))


class OwnGathered(Rows):
    """Row numbers of the whole batch, a gather of ours."""

    def __init__(self, stage: OwnBatch, plan: IndexPlan, run: Run) -> None:
        self._stage = stage
        self._plan = plan
        self._order = plan.open(run)

    def __next__(self) -> Any:
        size = self._stage.size
        lines = self._order.take(size)
        if not len(lines) or (self._stage.drop_remainder and len(lines) < size):
            raise StopIteration
        own = self._stage.share(len(lines))
        mine = lines[own]
        if not len(mine):  # nothing is ours: the shape of one row, and none of it
            one = self._plan.batch(lines[:1], 1)
            return Part((map_leaves(lambda part: part[:0], one), len(lines)))
        full = self._stage.share(size)
        return Part((self._plan.batch(mine, full.stop - full.start), len(lines)))

    def skip(self, count: int) -> int:
        """Pass over row numbers."""
        return -(-self._order.skip(count * self._stage.size) // self._stage.size)


class OwnStacked(Over):
    """Rows of others passed over, ours put together."""

    def __init__(self, stage: OwnBatch, source: Rows) -> None:
        super().__init__(source)
        self._stage = stage
        self._last: Any = None

    def __next__(self) -> Any:
        size, own = self._stage.size, self._stage.share(self._stage.size)
        before = self._source.skip(own.start)
        mine = list(itertools.islice(self._source, own.stop - own.start))
        after = self._source.skip(size - own.stop) if before == own.start else 0
        total = before + len(mine) + after
        if not total or (self._stage.drop_remainder and total < size):
            raise StopIteration
        if total < size:
            return Part((self._settled(mine), -1))  # the end: who has which rows is asked
        batch = stack(mine)
        self._last = map_leaves(lambda part: part[:0], batch)
        return Part((batch, total))

    def _settled(self, rows: list[Any]) -> Any:
        if rows:
            return stack(rows)
        if self._last is not None:
            return self._last
        return map_leaves(
            lambda spec: np.zeros((0, *(d or 0 for d in spec.shape)), spec.dtype),
            self._stage.parent.spec,
        )

    def skip(self, count: int) -> int:
        """Pass over rows."""
        return -(-self._source.skip(count * self._stage.size) // self._stage.size)
