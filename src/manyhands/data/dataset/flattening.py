"""Stages that make datasets on the way: flat_map, interleave, window.

In: a stage and a function that gives a dataset for each element.  Out: their elements, one dataset
after the other or in turns, exactly in tf.data's deterministic order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manyhands.data.dataset.ahead import DEPTH, AheadRows
from manyhands.data.dataset.calling import Function, Place
from manyhands.data.dataset.draws import Draws, Run
from manyhands.data.dataset.mapping import looks_harmless
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.sources import Elements
from manyhands.data.dataset.spec import TensorSpec
from manyhands.data.dataset.stage import UNKNOWN, Rows, Stage
from manyhands.data.dataset.structure import leaves, rebuild
from manyhands.errors import DataError, explain


def made_dataset(function: Function, element: Any, place: Place) -> Stage:
    """Call a function that makes a dataset."""
    made = function.raw(element, place)
    if not hasattr(made, "is_dataset_leaf"):
        raise DataError(
            explain(
                f"The function given to {function.stage} has to return a dataset.",
                got=type(made).__name__,
                fix="return a Dataset made from the element, or use map.",
            )
        )
    return made.stage


@dataclass(eq=False)
class Interleave(Stage):
    """Datasets read in turns: `cycle` of them open, `block` elements from each; 1 is flat_map."""

    parent: Stage
    function: Function
    cycle: int
    block: int
    draws: Draws | None
    num_threads: int = 0
    """With any, each open dataset is read ahead on a thread of its own."""

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return self.function.stage if self.cycle == 1 else f"interleave({self.cycle}, {self.block})"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return False

    @property
    def way(self) -> str:
        """How it runs."""
        ahead = f", {self.cycle} read ahead on threads" if self.num_threads else ""
        return f"rows (datasets made on the way{ahead})"

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _spec(self) -> Any:
        if not looks_harmless(self.parent):
            return self.peeked_spec()
        first = self.parent.peek()
        return self.inner(first[0], Place(0, 0, 0)).spec if first else ()

    def inner(self, element: Any, place: Place) -> Stage:
        """Make the dataset of one element."""
        return made_dataset(self.function, element, place)

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        return InterleavedRows(self, self.parent.rows(run), run, *run.draw(self.draws))


class InterleavedRows(Over):
    """One pass over datasets in turns."""

    def __init__(self, stage: Interleave, source: Rows, run: Run, seed: int, epoch: int) -> None:
        super().__init__(source)
        self._stage = stage
        self._run = run
        self._seed = seed
        self._epoch = epoch
        self._at = 0
        self._open: list[Rows | None] = [None] * stage.cycle
        self._slot = 0
        self._taken = 0
        self._ended = False

    def __next__(self) -> Any:
        while True:
            rows = self._open[self._slot]
            if rows is None:
                rows = self._open[self._slot] = self._next_inner()
                if rows is None and not any(self._open):
                    raise StopIteration
            if rows is not None and self._taken < self._stage.block:
                for row in rows:
                    self._taken += 1
                    return row
                rows.close()
                self._open[self._slot] = None
                if self._stage.cycle == 1:
                    self._taken = 0
                    continue
            self._slot = (self._slot + 1) % self._stage.cycle
            self._taken = 0

    def _next_inner(self) -> Rows | None:
        if self._ended:
            return None
        try:
            element = next(self._source)
        except StopIteration:
            self._ended = True
            return None
        place = Place(self._seed, self._epoch, self._at)
        self._at += 1
        stage = self._stage.inner(element, place)
        run = self._run.inner(stage.places(), self._seed, self._epoch, place.position)
        rows = stage.rows(run)
        return AheadRows(rows, DEPTH) if self._stage.num_threads and not run.only_rows else rows

    def close(self) -> None:
        """Close what is open."""
        for rows in self._open:
            if rows is not None:
                rows.close()
        super().close()


@dataclass(eq=False)
class Window(Stage):
    """Runs of elements, each part of them as a dataset."""

    parent: Stage
    size: int
    shift: int
    stride: int
    drop_remainder: bool
    wrap: Callable[[Stage], Any]

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"window({self.size})"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return False

    def length(self) -> int:
        """How many elements."""
        rows = self.parent.length()
        if rows < 0:
            return rows
        if not self.drop_remainder:
            return -(-rows // self.shift)
        span = (self.size - 1) * self.stride + 1
        return 0 if rows < span else (rows - span) // self.shift + 1

    def _spec(self) -> Any:
        return self.peeked_spec()

    def _rows(self, run: Run) -> Rows:
        return WindowedRows(self, self.parent.rows(run))


class WindowedRows(Over):
    """One pass of windows."""

    def __init__(self, stage: Window, source: Rows) -> None:
        super().__init__(source)
        self._stage = stage
        self._held: list[Any] = []
        self._gap = 0

    def __next__(self) -> Any:
        stage = self._stage
        span = (stage.size - 1) * stage.stride + 1
        self._gap -= self._source.skip(self._gap) if self._gap else 0
        self._held += itertools.islice(self._source, span - len(self._held))
        rows = self._held[:: stage.stride]
        if not rows or (stage.drop_remainder and len(self._held) < span):
            raise StopIteration
        self._gap = max(0, stage.shift - len(self._held))
        self._held = self._held[stage.shift :]
        columns = zip(*(leaves(row) for row in rows), strict=True)
        wrapped = [stage.wrap(Elements(list(column), "window")) for column in columns]
        return rebuild(rows[0], iter(wrapped))


@dataclass(frozen=True)
class DatasetSpec:
    """Spec of a leaf that is itself a dataset."""

    element_spec: Any


__all__ = ["DatasetSpec", "Interleave", "TensorSpec", "Window"]
