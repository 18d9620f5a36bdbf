"""Stages that only change which elements come, and when.

In: one or more stages.  Out: shuffle, repeat, take, skip, shard, zip, enumerate, concatenate; over
arrays as index arithmetic, over anything else element by element, in the same order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset import moving
from manyhands.data.dataset.draws import Draws, Picker, Run
from manyhands.data.dataset.orders import Numbered, Repeated, Shuffled, Sliced, Zipped
from manyhands.data.dataset.sources import at_most
from manyhands.data.dataset.spec import TensorSpec, loosest
from manyhands.data.dataset.stage import INFINITE, UNKNOWN, IndexPlan, Rows, Stage


@dataclass(eq=False)
class Shuffle(Stage):
    """A buffer, a random pick, a refill."""

    parent: Stage
    buffer_size: int
    draws: Draws | None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"shuffle({self.buffer_size})"

    def _plan(self) -> IndexPlan | None:
        plan, draws, size = self.parent.plan, self.draws, self.buffer_size
        if plan is None or draws is None:
            return None
        return _reordered(
            plan, lambda run: Shuffled(plan.open(run), size, Picker(*run.draw(draws)))
        )

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        rows = self.parent.rows(run)
        return moving.ShuffledRows(rows, self.buffer_size, Picker(*run.draw(self.draws)))


@dataclass(eq=False)
class Repeat(Stage):
    """Several passes, or for ever."""

    parent: Stage
    times: int

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"repeat({self.times if self.times >= 0 else ''})"

    def length(self) -> int:
        """How many elements."""
        one = self.parent.length()
        if self.times < 0:
            return one if one == 0 else INFINITE
        return 0 if self.times == 0 else one if one < 0 else one * self.times

    def _plan(self) -> IndexPlan | None:
        plan = self.parent.plan
        if plan is None:
            return None
        return _reordered(
            plan, lambda run: Repeated(lambda: plan.open(run), self.times, plan.width)
        )

    def _rows(self, run: Run) -> Rows:
        return moving.RepeatedRows(lambda: self.parent.rows(run), self.times)


@dataclass(eq=False)
class Slice(Stage):
    """Take, skip and shard: from `start`, every `step`-th, at most `count` (negative: all)."""

    parent: Stage
    name: str
    start: int = 0
    step: int = 1
    count: int = -1

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return self.name

    def length(self) -> int:
        """How many elements."""
        length = self.parent.length()
        if length >= 0:
            length = max(0, -(-(length - self.start) // self.step))
        return at_most(length, self.count)

    def _plan(self) -> IndexPlan | None:
        plan = self.parent.plan
        if plan is None:
            return None
        return _reordered(
            plan, lambda run: Sliced(plan.open(run), self.start, self.step, self.count)
        )

    def _rows(self, run: Run) -> Rows:
        return moving.SlicedRows(self.parent.rows(run), self.start, self.step, self.count)


@dataclass(eq=False)
class Zip(Stage):
    """Elements side by side, nested as the datasets were."""

    nested: tuple[Stage, ...] | dict[str, Stage]

    forks = True

    def __post_init__(self) -> None:
        self.parents = tuple(self.nested.values() if isinstance(self.nested, dict) else self.nested)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"zip of {len(self.parents)}"

    def length(self) -> int:
        """How many elements."""
        known = [parent.length() for parent in self.parents]
        if UNKNOWN in known:
            return UNKNOWN
        return min((length for length in known if length >= 0), default=INFINITE)

    def _join(self, parts: Any) -> Any:
        return (
            dict(zip(self.nested, parts, strict=True))
            if isinstance(self.nested, dict)
            else (tuple(parts))
        )

    def _spec(self) -> Any:
        return self._join(parent.spec for parent in self.parents)

    def _plan(self) -> IndexPlan | None:
        plans = [parent.plan for parent in self.parents]
        whole = [plan for plan in plans if plan is not None]
        if len(whole) < len(plans):
            return None
        edges = list(itertools.accumulate((plan.width for plan in whole), initial=0))
        spans = list(itertools.pairwise(edges))

        def gather(lines: np.ndarray) -> Any:
            pairs = zip(whole, spans, strict=True)
            return self._join([plan.gather(lines[:, a:b]) for plan, (a, b) in pairs])

        return IndexPlan(
            width=edges[-1],
            open=lambda run: Zipped([plan.open(run.branch(way)) for way, plan in enumerate(whole)]),
            gather=gather,
            is_traced=any(plan.is_traced for plan in whole),
        )

    def _rows(self, run: Run) -> Rows:
        passes = [parent.rows(run.branch(way)) for way, parent in enumerate(self.parents)]
        return moving.ZippedRows(passes, self._join)


@dataclass(eq=False)
class Enumerate(Stage):
    """Each element with its number."""

    parent: Stage
    start: int

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"enumerate({self.start})"

    def _spec(self) -> Any:
        return TensorSpec((), np.int64), self.parent.spec

    def _plan(self) -> IndexPlan | None:
        plan = self.parent.plan
        if plan is None:
            return None
        return IndexPlan(
            width=plan.width + 1,
            open=lambda run: Numbered(plan.open(run)),
            gather=lambda lines: (lines[:, 0] + self.start, plan.gather(lines[:, 1:])),
            is_traced=plan.is_traced,
        )

    def _rows(self, run: Run) -> Rows:
        return moving.EnumeratedRows(self.parent.rows(run), self.start)


@dataclass(eq=False)
class Concatenate(Stage):
    """One dataset after the other."""

    first: Stage
    second: Stage

    forks = True

    def __post_init__(self) -> None:
        self.parents = (self.first, self.second)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return "concatenate"

    def length(self) -> int:
        """How many elements."""
        known = [parent.length() for parent in self.parents]
        if INFINITE in known:
            return INFINITE
        return UNKNOWN if UNKNOWN in known else sum(known)

    def _spec(self) -> Any:
        return loosest(self.first.spec, self.second.spec)

    def _rows(self, run: Run) -> Rows:
        ways = enumerate(self.parents)

        def following() -> Rows:
            way, parent = next(ways)
            return parent.rows(run.branch(way))

        return moving.RepeatedRows(following, 2, even_if_empty=True)


def _reordered(plan: IndexPlan, opened: Any) -> IndexPlan:
    return IndexPlan(width=plan.width, open=opened, gather=plan.gather, is_traced=plan.is_traced)
