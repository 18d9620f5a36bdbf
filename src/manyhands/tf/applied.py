"""Functions that make functions of datasets, for `dataset.apply`, as older programs write them.

In: numbers and functions.  Out: a function of a dataset that gives a dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manyhands.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.stage import Rows, Stage
from manyhands.errors import explain
from manyhands.tf.errors import FailedPreconditionError

Change = Callable[[Any], Any]


def shuffle_and_repeat(buffer_size: int, count: int | None = None, seed: Any = None) -> Change:
    """Shuffle anew for each of `count` passes; for ever when not told."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def prefetch_to_device(device: str, buffer_size: int | None = None) -> Change:
    """Read ahead; rows go to their devices by themselves, whichever is named here."""
    del device
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def group_by_window(
    key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None
) -> Change:
    """Give what a function makes of every so many elements with the same key."""
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def unique() -> Change:
    """Give each element the first time it comes."""
    return lambda dataset: dataset.unique()


def assert_cardinality(expected_cardinality: Any) -> Change:
    """Say how many elements there are; one more or fewer is an error where it is read."""
    expected = int(expected_cardinality)

    def change(dataset: Any) -> Any:
        if dataset.stage.length() == expected:
            return dataset
        return dataset._then(_Expected(dataset.stage, expected))

    return change


class _Expected(Stage):
    """Elements whose number was said beforehand."""

    def __init__(self, parent: Stage, expected: int) -> None:
        self.parents = (parent,)
        self.expected = expected

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"assert_cardinality({self.expected})"

    def length(self) -> int:
        """How many elements, as was said."""
        return self.expected

    def _rows(self, run: Run) -> Rows:
        return _CountedRows(self.parents[0].rows(run), self.expected)


class _CountedRows(Rows):
    """One pass, counted."""

    def __init__(self, rows: Rows, expected: int) -> None:
        self._rows = rows
        self._expected = expected
        self._seen = 0

    def __next__(self) -> Any:
        try:
            row = next(self._rows)
        except StopIteration:
            if self._expected != UNKNOWN_CARDINALITY and self._seen < self._wanted:
                raise self._misfit(f"only {self._seen}") from None
            raise
        self._seen += 1
        if self._expected >= 0 and self._seen > self._expected:
            raise self._misfit(f"at least {self._seen}")
        return row

    @property
    def _wanted(self) -> float:
        return float("inf") if self._expected == INFINITE_CARDINALITY else self._expected

    def _misfit(self, found: str) -> FailedPreconditionError:
        endless = self._expected == INFINITE_CARDINALITY
        wanted = "elements without end" if endless else f"{self._expected} elements"
        return FailedPreconditionError(
            explain(
                f"A dataset was expected to contain {wanted}.",
                got=found,
                fix="give assert_cardinality the right number, or use take or repeat before it.",
            )
        )

    def close(self) -> None:
        """Let go of threads and files."""
        self._rows.close()
