"""Stages that ask about each element: filter, take_while.

In: a stage and a function that answers yes or no.  Out: the elements with a yes, or those before
the first no.  Over arrays, a filter's function that JAX can trace is asked about many rows at once
and the rest stays index arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manyhands.data.dataset.calling import Function, Place
from manyhands.data.dataset.calling_stage import CallingStage
from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.orders import Sieved
from manyhands.data.dataset.stage import UNKNOWN, IndexPlan, Rows, split, start
from manyhands.data.dataset.traced import decide
from manyhands.errors import DataError, explain

_SAMPLES = 3
_BLOCK = 256


class Filter(CallingStage):
    """The elements for which a function says yes."""

    @property
    def way(self) -> str:
        """How it runs."""
        return "traced" if self.plan is not None else "rows"

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _plan(self) -> IndexPlan | None:
        plan = self.parent.plan
        if plan is None:
            return None
        lines = plan.open(start(self.parent, counted=False)).take(_SAMPLES)
        if not len(lines):
            return None
        rows = list(split(plan.batch(lines, _SAMPLES), len(lines)))
        places = [Place(0, 0, number) for number in range(len(lines))]
        traced = decide(self.function, rows, places, whole=False).traced
        if traced is None or traced.is_random or not _is_bool(traced.result):
            return None
        nowhere = np.zeros(_BLOCK, np.uint32)

        def keeps(lines: np.ndarray) -> np.ndarray:
            full = np.concatenate([lines, lines[-1:].repeat(_BLOCK - len(lines), 0)])
            verdicts = traced.over_rows(plan.gather(full), 0, 0, nowhere)
            return np.asarray(verdicts)[: len(lines)].astype(bool)

        return IndexPlan(
            width=plan.width,
            open=lambda run: Sieved(plan.open(run), keeps, _BLOCK),
            gather=plan.gather,
            is_traced=plan.is_traced,
        )

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        return FilteredRows(self.parent.rows(run), self.function, *run.draw(self.draws))


def _is_bool(result: Any) -> bool:
    return getattr(result, "dtype", None) == np.bool_ and np.shape(result) == ()


class TakeWhile(CallingStage):
    """The elements before the first for which a function says no."""

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        rows = self.parent.rows(run)
        return FilteredRows(rows, self.function, *run.draw(self.draws), until_no=True)


class FilteredRows(Over):
    """One pass over the elements with a yes, or over those before the first no."""

    def __init__(
        self, source: Rows, function: Function, seed: int, epoch: int, *, until_no: bool = False
    ) -> None:
        super().__init__(source)
        self._function = function
        self._seed = seed
        self._epoch = epoch
        self._until_no = until_no
        self._at = 0
        self._ended = False

    def __next__(self) -> Any:
        while not self._ended:
            row = next(self._source)
            place = Place(self._seed, self._epoch, self._at)
            self._at += 1
            if _says_yes(self._function, row, place):
                return row
            self._ended = self._until_no
        raise StopIteration


def _says_yes(function: Function, row: Any, place: Place) -> bool:
    verdict = function.raw(row, place)
    kind = getattr(verdict, "dtype", type(verdict))
    if kind not in (bool, np.bool_) or np.shape(verdict) != ():
        raise DataError(
            explain(
                f"The function given to {function.stage} has to answer with one yes or no.",
                got=f"an answer of type {kind}, shape {_shape(verdict)}",
                fix=f"return a single bool, such as x > 0; {function.stage} before batch to choose "
                "rows.",
            )
        )
    return bool(verdict)


def _shape(verdict: Any) -> Any:
    return getattr(verdict, "shape", ())
