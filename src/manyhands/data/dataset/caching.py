"""The cache stage: elements of the first complete pass, in memory or in a file.

In: a stage.  Out: its elements, read once.  Until a pass has been complete, every pass reads the
same epoch of what is below, so a pass broken off changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.data.dataset import cache_file
from manyhands.data.dataset.draws import Draws, Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.orders import Fixed
from manyhands.data.dataset.sources import Listed
from manyhands.data.dataset.stage import IndexPlan, Rows, Stage
from manyhands.data.dataset.structure import copied, leaves, map_leaves, rebuild

_BLOCK = 1024
_ALL = 2**60


@dataclass(eq=False)
class Cache(Stage):
    """Elements kept after the first time."""

    parent: Stage
    path: Path | None = None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)
        self.pins = None
        self.kept: list[Any] | None = None
        self._table: _Table | None = None

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"cache({str(self.path)!r})" if self.path else "cache()"

    @property
    def way(self) -> str:
        """How it runs."""
        return "rows (a file)" if self.path else "index" if self.plan is not None else "rows"

    def pin(self, begun: dict[Draws, tuple[int, int]]) -> None:
        """Fix which iteration of the stages below is kept; forget another one."""
        mine = {draws: begun[draws] for draws in self.parent.places()}
        if self.pins is not None and mine != self.pins:
            self.kept = self._table = None
        self.pins = mine

    def _plan(self) -> IndexPlan | None:
        plan = self.parent.plan
        if plan is None or self.path is not None or self.parent.is_endless:
            return None
        if not plan.is_traced:
            return IndexPlan(
                width=plan.width, open=lambda run: Fixed(self._lines(run, plan)), gather=plan.gather
            )
        return IndexPlan(
            width=1,
            open=lambda run: Fixed(np.arange(len(self._lines(run, plan)))[:, None]),
            gather=self._gather,
        )

    def _lines(self, run: Run, plan: IndexPlan) -> np.ndarray:
        if self._table is None:
            lines = plan.open(run.afresh()).take(_ALL)
            self._table = _Table(plan, lines)
        return self._table.lines

    def _gather(self, lines: np.ndarray) -> Any:
        assert self._table is not None, "opened before it is gathered from"
        return self._table.rows(lines[:, 0])

    def _rows(self, run: Run) -> Rows:
        if self.path is not None:
            if self.path.exists():
                return cache_file.FileRows(self.path)
            return Keeping(self, self.parent.rows(run.afresh()), cache_file.Writer(self.path))
        if self.kept is not None:
            return Listed(self.kept, copied)
        return Keeping(self, self.parent.rows(run.afresh()), None)


class Keeping(Over):
    """The first pass: hands elements on and keeps a copy of each."""

    def __init__(self, stage: Cache, source: Rows, writer: cache_file.Writer | None) -> None:
        super().__init__(source)
        self._stage = stage
        self._writer = writer
        self._held: list[Any] = []
        self._pins = stage.pins

    def __next__(self) -> Any:
        try:
            row = next(self._source)
        except StopIteration:
            self._complete()
            raise
        if self._writer is not None:
            self._writer.add(row)
        else:
            self._held.append(copied(row))
        return row

    def _complete(self) -> None:
        if self._writer is not None:
            self._writer.finish()
        elif self._stage.pins == self._pins:
            self._stage.kept = self._held

    def close(self) -> None:
        """Give up a file that was not finished."""
        if self._writer is not None:
            self._writer.abandon()
        super().close()


class _Table:
    """Rows of a plan, computed as far as they were asked for."""

    def __init__(self, plan: IndexPlan, lines: np.ndarray) -> None:
        self.lines = lines
        self._plan = plan
        self._arrays: Any = None
        self._num_ready = 0

    def rows(self, numbers: np.ndarray) -> Any:
        """Copy rows by number."""
        while self._num_ready <= int(numbers.max()):
            self._compute()
        return map_leaves(lambda part: part[numbers], self._arrays)

    def _compute(self) -> None:
        start = self._num_ready
        block = self._plan.batch(self.lines[start : start + _BLOCK], _BLOCK)
        if self._arrays is None:
            parts = (np.empty((len(self.lines), *p.shape[1:]), p.dtype) for p in leaves(block))
            self._arrays = rebuild(block, parts)
        stop = start + len(leaves(block)[0])
        for array, part in zip(leaves(self._arrays), leaves(block), strict=True):
            array[start:stop] = part
        self._num_ready = stop
