"""The map stage.

In: a stage and a user's function.  Out: its results, by whichever way gives the same answer
fastest: traced over gathered rows, traced over batches, or called row by row.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.calling import Function, Place
from manyhands.data.dataset.draws import Draws, Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.orders import Numbered
from manyhands.data.dataset.spec import TensorSpec
from manyhands.data.dataset.stage import ROWS_AT_ONCE, IndexPlan, Rows, Stage, split, start
from manyhands.data.dataset.structure import leaves, map_leaves
from manyhands.data.dataset.traced import Decision, decide
from manyhands.data.dataset.workers import Workers

_SAMPLES = 3
_SHORT_S = 1e-4
"""A shorter call is not worth a thread: Python runs one at a time."""


@dataclass(eq=False)
class Map(Stage):
    """A function of each element."""

    parent: Stage
    function: Function
    num_threads: int
    """0: on the thread that asks."""
    draws: Draws | None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)
        self.decision: Decision | None = None
        self._call_s: float | None = None

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"map({getattr(self.function.call, '__name__', 'function')})"

    @property
    def way(self) -> str:
        """How it runs."""
        self.look()
        if self.decision is None:
            return "rows (decided by the first element)"
        if self.decision.traced is not None:
            return "traced"
        where = f" on {self.num_threads} worker threads" if self.uses_threads else ""
        return f"rows{where} ({self.decision.reason})"

    @property
    def uses_threads(self) -> bool:
        """Whether calls are long enough to go to threads, and may."""
        if not self.num_threads or self.decision is None:
            return False
        if self._call_s is None:
            return self.decision.seconds > _SHORT_S
        return self._call_s > _SHORT_S

    def timed(self, seconds: float) -> None:
        """Learn how long a call takes: the shortest so far, as the first one may set things up."""
        self._call_s = min(seconds, self._call_s or seconds)

    @property
    def call_s(self) -> float:
        """How long a call takes, as far as known."""
        return self._call_s or _SHORT_S

    def look(self) -> None:
        """Decide before anything is read, where looking at the source does no harm."""
        if self.decision is None and self.plan is None and looks_harmless(self.parent):
            first = self.parent.peek()
            if first:
                self.settle(first[0], Place(0, 0, 0))

    def _spec(self) -> Any:
        self.look()
        if self.decision is None or self.decision.spec is None:
            return self.peeked_spec()
        if self.is_batched and self.parent.length() != 1:
            return loosened(self.parent.spec, self.decision.spec)
        return self.decision.spec

    def settle(self, row: Any, place: Place) -> Decision:
        """Decide how to run, by the first row."""
        decision = self.decision
        if decision is None:
            decision = decide(self.function, [row], [place], whole=self.is_batched)
            self.decision = decision
        return decision

    def _plan(self) -> IndexPlan | None:
        plan, draws = self.parent.plan, self.draws
        if plan is None or draws is None:
            return None
        self.decision = self._decide_on(plan)
        traced = None if self.decision is None else self.decision.traced
        if traced is None:
            return None
        if not traced.is_random:
            return IndexPlan(
                width=plan.width,
                open=plan.open,
                gather=lambda lines: traced.over_rows(
                    plan.gather(lines), 0, 0, np.zeros(len(lines), np.uint32)
                ),
                is_traced=True,
            )
        return IndexPlan(
            width=plan.width + 3,
            open=lambda run: Numbered(plan.open(run), *run.draw(draws)),
            gather=lambda lines: traced.over_rows(
                plan.gather(lines[:, 3:]), int(lines[0, 0]), lines[:, 1], lines[:, 2]
            ),
            is_traced=True,
        )

    def _decide_on(self, plan: IndexPlan) -> Decision | None:
        lines = plan.open(start(self.parent, counted=False)).take(_SAMPLES)
        if not len(lines):
            return None
        rows = list(split(plan.batch(lines, _SAMPLES), len(lines)))
        places = [Place(0, 0, number) for number in range(len(lines))]
        return decide(self.function, rows, places, whole=False)

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        return MappedRows(self, self.parent.rows(run), *run.draw(self.draws), run.only_rows)

    @property
    def reads_blocks(self) -> bool:
        """Whether rows may be read ahead to be mapped by one compiled call."""
        decision = self.decision
        traced = decision is not None and decision.traced is not None
        return traced and not self.is_batched and looks_harmless(self.parent)

    def apply_block(self, work: list[tuple[Any, Place]], size: int) -> Any | None:
        """Map rows together, as one batch; None where they are not alike."""
        assert self.decision is not None
        assert self.decision.traced is not None
        traced = self.decision.traced
        rows = [row for row, _ in work]
        shapes = [np.shape(leaf) for leaf in leaves(traced.inputs)]
        if any([np.shape(leaf) for leaf in leaves(row)] != shapes for row in rows):
            return None
        full = work + work[-1:] * (size - len(work))  # one size, compiled once
        stacked = map_leaves(lambda *parts: np.stack(parts), *(row for row, _ in full))
        positions = np.array([place.position for _, place in full])
        place = work[0][1]
        found = traced.over_rows(stacked, place.seed, place.epoch, positions)
        return map_leaves(lambda part: np.asarray(part)[: len(work)], found)

    def apply(self, row: Any, place: Place, *, plainly: bool) -> Any:
        """Map one element."""
        decision = self.decision or self.settle(row, place)
        if decision.traced is not None and self.is_batched and not plainly:
            found = decision.traced.over_whole(row, place)
            if found is not None:
                return _to_numpy(found)
        return decision.cast(self.function.on(row, place))


class MappedRows(Over):
    """A function of each element, in order; on worker threads where that pays."""

    def __init__(self, stage: Map, source: Rows, seed: int, epoch: int, plainly: bool) -> None:
        super().__init__(source)
        self._stage = stage
        self._seed = seed
        self._epoch = epoch
        self._plainly = plainly
        self._at = 0
        self._num_timed = 0
        self._ready: Iterator[Any] = iter(())
        self._workers: Workers | None = None

    def __next__(self) -> Any:
        for row in self._ready:
            return row
        if self._workers is not None:
            return next(self._workers)
        if not self._plainly and self._stage.reads_blocks:
            self._ready = self._read_block()
            return next(self._ready)
        place = Place(self._seed, self._epoch, self._at)
        row = next(self._source)
        self._at += 1
        stage = self._stage
        began_s = time.perf_counter()
        out = stage.apply(row, place, plainly=self._plainly)
        if stage.num_threads and not self._plainly and self._num_timed < _SAMPLES:
            self._num_timed += 1
            stage.timed(time.perf_counter() - began_s)
            if self._num_timed > 1 and stage.uses_threads and not self._is_traced():
                self._workers = Workers(self.read, self._work, stage.num_threads, stage.call_s)
        return out

    def _read_block(self) -> Iterator[Any]:
        work = list(itertools.islice(iter(self.read_or_none, None), ROWS_AT_ONCE))
        block = self._stage.apply_block(work, ROWS_AT_ONCE) if work else ()
        if block is None:
            return iter([self._stage.apply(*each, plainly=True) for each in work])
        return split(block, len(work))

    def _is_traced(self) -> bool:
        decision = self._stage.decision
        return decision is not None and decision.traced is not None and self._stage.is_batched

    def read(self) -> tuple[Any, Place]:
        """Read a row without mapping it."""
        row = next(self._source)
        self._at += 1
        return row, Place(self._seed, self._epoch, self._at - 1)

    def read_or_none(self) -> tuple[Any, Place] | None:
        """Read a row without mapping it, or None at the end."""
        try:
            return self.read()
        except StopIteration:
            return None

    def _work(self, work: tuple[Any, Place]) -> Any:
        return self._stage.apply(*work, plainly=self._plainly)

    def skip(self, count: int) -> int:
        """Pass over rows without mapping them."""
        if self._workers is not None:
            return super().skip(count)
        done = sum(1 for _ in zip(range(count), self._ready, strict=False))
        further = self._source.skip(count - done) if done < count else 0
        self._at += further
        return done + further

    def close(self) -> None:
        """Let go of the worker threads."""
        if self._workers is not None:
            self._workers.close()
        super().close()


def looks_harmless(stage: Stage) -> bool:
    """Whether reading the first element leaves no trace: no generator of the user's is run."""
    return all(getattr(part, "is_repeatable", True) for part in stage.walk())


def _to_numpy(element: Any) -> Any:
    return map_leaves(lambda leaf: np.asarray(leaf)[()], element)


def loosened(inputs: Any, result: Any) -> Any:
    """A batch's results keep an open number of rows where the batch has one."""
    if all(part.shape and part.shape[0] is not None for part in leaves(inputs)):
        return result
    return map_leaves(
        lambda part: TensorSpec((None, *part.shape[1:]) if part.shape else part.shape, part.dtype),
        result,
    )


__all__ = ["Map", "MappedRows", "looks_harmless", "loosened"]
