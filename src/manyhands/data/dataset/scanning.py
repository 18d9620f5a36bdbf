"""The scan stage: a function that remembers.

In: a stage, a first state and a function of state and element.  Out: its results, one an element.
Elements are asked for in order, so a saved position is found by going through those before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from manyhands.data.dataset.calling import Place
from manyhands.data.dataset.calling_stage import CallingStage
from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.mapping import loosened
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.spec import leaf_dtype, loosest, spec_of
from manyhands.data.dataset.stage import Rows
from manyhands.data.dataset.structure import leaves, same_nesting
from manyhands.errors import DataError, explain


@dataclass(eq=False, kw_only=True)
class Scan(CallingStage):
    """What a function gives for each element and the state it left before."""

    first: Any

    def _spec(self) -> Any:
        found = [spec_of(element) for element in self.peek(2)]
        if not found:
            return ()
        spec = reduce(loosest, found)
        return loosened(self.parent.spec, spec) if self.is_batched else spec

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        return ScannedRows(self, self.parent.rows(run), *run.draw(self.draws))

    def step(self, state: Any, element: Any, place: Place) -> tuple[Any, Any]:
        """Give the next state and the result."""
        found = self.function.on((state, element), place)
        if not isinstance(found, tuple) or len(found) != 2:
            got = f"{len(found)} parts" if isinstance(found, tuple) else type(found).__name__
            raise _misfit("The function given to scan has to return a state and a result.", got)
        if not same_nesting(self.first, found[0]) or _kinds(self.first) != _kinds(found[0]):
            what = "The state of a scan has to stay as the first is: its nesting and its dtypes."
            raise _misfit(what, f"{spec_of(found[0])} after {spec_of(self.first)}")
        return found


class ScannedRows(Over):
    """One pass of a scan."""

    def __init__(self, stage: Scan, source: Rows, seed: int, epoch: int) -> None:
        super().__init__(source)
        self._stage = stage
        self._seed = seed
        self._epoch = epoch
        self._at = 0
        self._state = stage.first

    def __next__(self) -> Any:
        element = next(self._source)
        place = Place(self._seed, self._epoch, self._at)
        self._at += 1
        self._state, found = self._stage.step(self._state, element, place)
        return found


def _kinds(state: Any) -> list[Any]:
    return [leaf_dtype(leaf) for leaf in leaves(state)]


def _misfit(what: str, got: str) -> DataError:
    return DataError(
        explain(what, got=got, fix="return (new_state, result), the state cast to its first dtype.")
    )
