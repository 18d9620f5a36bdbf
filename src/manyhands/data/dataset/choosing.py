"""Stages that choose which dataset gives the next element: choose_from and sample_from_datasets.

In: datasets, and numbers of them: a user's own, or drawn by weights.  Out: their elements, each
dataset's in its order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from manyhands.data.dataset.draws import Draws, Picker, Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.spec import TensorSpec, leaf_dtype, loosest
from manyhands.data.dataset.stage import INFINITE, UNKNOWN, Rows, Stage
from manyhands.data.dataset.structure import leaves, same_nesting
from manyhands.errors import DataError, explain

_FINE = 2**32
"""Weights are told apart this finely."""


@dataclass(eq=False)
class Choose(Stage):
    """Elements of the datasets whose numbers come."""

    choices: Stage
    datasets: Sequence[Stage]
    stops: bool
    """Whether the end of one dataset is the end; else those that ended are passed over."""

    forks = True

    def __post_init__(self) -> None:
        self.parents = (self.choices, *self.datasets)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"choose from {len(self.datasets)}{' until one ends' if self.stops else ''}"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return all(dataset.is_batched for dataset in self.datasets)

    def length(self) -> int:
        """How many elements."""
        endless = [dataset.length() == INFINITE for dataset in self.datasets]
        goes_on = all(endless) if self.stops else any(endless)
        return INFINITE if goes_on and self.choices.length() == INFINITE else UNKNOWN

    def _spec(self) -> Any:
        return reduce(loosest, (dataset.spec for dataset in self.datasets))

    def _rows(self, run: Run) -> Rows:
        passes = [parent.rows(run.branch(way)) for way, parent in enumerate(self.parents)]
        return ChosenRows(passes[0], passes[1:], self.stops)


class ChosenRows(Over):
    """One pass over chosen datasets."""

    def __init__(self, choices: Rows, sources: list[Rows], stops: bool) -> None:
        super().__init__(choices)
        self._open: list[Rows | None] = [*sources]
        self._stops = stops

    def __next__(self) -> Any:
        for row in self._turn(lambda rows: [*itertools.islice(rows, 1)]) or ():
            return row
        raise StopIteration

    def skip(self, count: int) -> int:
        """Pass over in whichever dataset is chosen."""
        for done in range(count):
            if not self._turn(lambda rows: rows.skip(1)):
                return done
        return count

    def _turn(self, use: Callable[[Rows], Any]) -> Any:
        """Use the next dataset that has something; None at the end."""
        while any(self._open):
            choice = next(self._source, None)
            if choice is None:
                break
            number = _number(choice, len(self._open))
            rows = self._open[number]
            if rows is None:
                continue
            if found := use(rows):
                return found
            if self._stops:
                break
            rows.close()
            self._open[number] = None
        self.close()
        return None

    def close(self) -> None:
        """Close what is open."""
        for rows in self._open:
            if rows is not None:
                rows.close()
        self._open = [None for _ in self._open]
        super().close()


def _number(choice: Any, count: int) -> int:
    if np.shape(choice) == () and leaf_dtype(choice).kind in "iu" and 0 <= int(choice) < count:
        return int(choice)
    raise DataError(
        explain(
            "A dataset is chosen by its number.",
            got=f"{choice!r} where there are {count} datasets",
            fix=f"let choice_dataset give whole numbers from 0 to {count - 1}.",
        )
    )


@dataclass(eq=False)
class Lots(Stage):
    """Numbers drawn by weights, for ever: the same weights, or a dataset's, one after another."""

    weights: Sequence[float] | Stage
    draws: Draws | None

    def __post_init__(self) -> None:
        self.parents = (self.weights,) if isinstance(self.weights, Stage) else ()

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return "lots" if isinstance(self.weights, Stage) else f"lots({len(self.weights)})"

    def length(self) -> int:
        """How many elements."""
        return self.weights.length() if isinstance(self.weights, Stage) else INFINITE

    def _spec(self) -> Any:
        return TensorSpec((), np.int64)

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        picker = Picker(*run.draw(self.draws))
        if isinstance(self.weights, Stage):
            return DrawnRows(self.weights.rows(run), picker)
        return DrawnRows(itertools.repeat(self.weights), picker)


class DrawnRows(Rows):
    """One pass of numbers."""

    def __init__(self, weights: Iterator[Any], picker: Picker) -> None:
        self._weights = weights
        self._picker = picker

    def __next__(self) -> Any:
        edges = np.cumsum(np.asarray(next(self._weights), np.float64).ravel())
        lot = self._picker.pick_one(_FINE) / _FINE * edges[-1]
        return np.int64(np.searchsorted(edges, lot, side="right"))

    def close(self) -> None:
        """Let go of the weights."""
        if isinstance(self._weights, Rows):
            self._weights.close()


def check_alike(specs: Sequence[Any]) -> None:
    """Check that datasets can give their elements in turns."""
    kinds = [[leaf.dtype for leaf in leaves(spec)] for spec in specs]
    if specs and all(
        same_nesting(specs[0], spec) and kind == kinds[0]
        for spec, kind in zip(specs, kinds, strict=True)
    ):
        return
    raise DataError(
        explain(
            "Datasets can be chosen from only if their elements are alike.",
            got=" and ".join(map(str, specs)) or "no datasets",
            fix="give at least one, all mapped to the same nesting and dtypes.",
        )
    )


def _floats(weights: Any) -> list[float]:
    try:
        return np.asarray(weights, np.float64).ravel().tolist()
    except (TypeError, ValueError):
        return []


def checked_weights(weights: Any, count: int) -> list[float]:
    """Read one weight for each dataset, none of them negative."""
    found = [1.0] * count if weights is None else _floats(weights)
    if len(found) == count and all(0 <= one < float("inf") for one in found):
        return found
    raise DataError(
        explain(
            "sample_from_datasets needs one weight for each dataset.",
            got=f"{weights!r} for {count} datasets",
            fix=f"give {count} numbers of 0 or more, or none for equal weights.",
        )
    )
