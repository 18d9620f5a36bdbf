"""What every stage of a pipeline can do, and the rows it gives.

In: the stages it reads from.  Out: its length, its spec, and a pass over its elements by whichever
way suits: by index (`plan`), or element by element (`_rows`).  A stage is never changed by use,
except for what it has found out (cached) and its draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.data.dataset.draws import Draws, Places, Run, begin
from manyhands.data.dataset.orders import Order
from manyhands.data.dataset.spec import spec_of
from manyhands.data.dataset.structure import map_leaves

INFINITE = -1
UNKNOWN = -2
ROWS_AT_ONCE = 64
"""Rows gathered at a time where they are handed out one by one."""


@dataclass(frozen=True, kw_only=True)
class IndexPlan:
    """Rows that are found by number."""

    width: int
    """How many columns a line of its order has."""
    open: Callable[[Run], Order]
    gather: Callable[[np.ndarray], Any]
    """Rows of these lines, as one batch."""
    is_traced: bool = False
    """Whether gathering runs compiled functions, which want batches of one size."""

    def batch(self, lines: np.ndarray, size: int) -> Any:
        """Gather lines into NumPy arrays; compiled for `size` rows only."""
        if not self.is_traced:
            return self.gather(lines)
        missing = size - len(lines)
        full = np.concatenate([lines, lines[-1:].repeat(missing, 0)]) if missing > 0 else lines
        return map_leaves(lambda part: np.asarray(part)[: len(lines)], self.gather(full))


class Rows:
    """One pass over elements."""

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def next_few(self) -> list[Any]:
        """Give the next element, and those that come with it at no further cost."""
        return [next(self)]

    def skip(self, count: int) -> int:
        """Pass over elements as cheaply as can be; give how many there were."""
        for done in range(count):
            try:
                next(self)
            except StopIteration:
                return done
        return count

    def close(self) -> None:
        """Let go of threads and files."""


class Stage:
    """One step of a pipeline."""

    parents: tuple[Stage, ...] = ()
    draws: Draws | None = None
    forks: bool = False
    """Whether it reads several datasets, each by its own branch of the run."""
    pins: dict[Draws, tuple[int, int]] | None = None
    """Which iteration of the stages below it keeps, if it keeps any."""

    def pin(self, begun: dict[Draws, tuple[int, int]]) -> None:
        """Fix which iteration of the stages below it keeps: a matter of caches."""

    @property
    def title(self) -> str:
        """How the user would write it."""
        raise NotImplementedError

    @property
    def way(self) -> str:
        """How it runs: index, traced, rows …"""
        return "index" if self.plan is not None else "rows"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return bool(self.parents) and self.parents[0].is_batched

    @property
    def is_endless(self) -> bool:
        """Whether it may never end: so where a length is infinite, or was before a filter."""
        length = self.length()
        if length == UNKNOWN:
            return any(parent.is_endless for parent in self.parents)
        return length == INFINITE

    def length(self) -> int:
        """How many elements: a number, INFINITE or UNKNOWN."""
        return self.parents[0].length()

    @cached_property
    def spec(self) -> Any:
        """What its elements look like."""
        return self._spec()

    def _spec(self) -> Any:
        return self.parents[0].spec

    @cached_property
    def plan(self) -> IndexPlan | None:
        """How its rows are found by number, or None."""
        return self._plan()

    def _plan(self) -> IndexPlan | None:
        return None

    def rows(self, run: Run) -> Rows:
        """Start a pass over its elements."""
        if not run.only_rows and self.plan is not None:
            return IndexedRows(self.plan, run)
        return self._rows(run)

    def _rows(self, run: Run) -> Rows:
        raise NotImplementedError

    def walk(self) -> Iterator[Stage]:
        """Yield the stages it is made of, sources first."""
        for parent in self.parents:
            yield from parent.walk()
        yield self

    def places(self) -> Places:
        """Every place where a stage draws, sources first."""
        found: Places = {}
        for way, parent in enumerate(self.parents):
            for draws, paths in parent.places().items():
                here = [(way, *path) if self.forks else path for path in paths]
                found.setdefault(draws, []).extend(here)
        if self.draws is not None:
            found[self.draws] = [()]
        return found

    def peek(self, count: int = 1) -> list[Any]:
        """Look at the first elements without using an iteration up."""
        rows = self.rows(start(self, counted=False))
        try:
            return [row for row, _ in zip(rows, range(count), strict=False)]
        finally:
            rows.close()

    def peeked_spec(self) -> Any:
        """Spec of the first element."""
        first = self.peek()
        return spec_of(first[0]) if first else ()


def start(stage: Stage, *, only_rows: bool = False, counted: bool = True) -> Run:
    """Start an iteration; what a cache keeps stays at the iteration it was first read in.

    With `counted=False` to look only: the next iteration draws what this one did.
    """
    run = begin(stage.places(), only_rows=only_rows, counted=counted)
    for part in stage.walk():
        run.begun.update(part.pins or {})
    for part in stage.walk():
        if part.pins is None:
            part.pin(run.begun)
    return run


class IndexedRows(Rows):
    """Rows by number, handed out one by one."""

    def __init__(self, plan: IndexPlan, run: Run) -> None:
        self._plan = plan
        self._order = plan.open(run)
        self._ready: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        for row in self._ready:
            return row
        lines = self._order.take(ROWS_AT_ONCE)
        if not len(lines):
            raise StopIteration
        self._ready = split(self._plan.batch(lines, ROWS_AT_ONCE), len(lines))
        return next(self._ready)

    def skip(self, count: int) -> int:
        """Pass over what was gathered, then over numbers only."""
        done = sum(1 for _ in zip(range(count), self._ready, strict=False))
        return done + (self._order.skip(count - done) if done < count else 0)


def split(batch: Any, num_rows: int) -> Iterator[Any]:
    """Yield the rows of a batch."""
    for row in range(num_rows):
        yield map_leaves(lambda part, row=row: part[row], batch)
