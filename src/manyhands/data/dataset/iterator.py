"""Iterators: one pass over a dataset, whose position can be saved and restored exactly.

In: the last stage of a pipeline.  Out: its elements, and `get_state` / `set_state`.

The state is small and JSON-able: which random numbers the pass draws, and how many elements were
taken.  Restoring it starts the same pass again and goes forward to that place.  Over arrays this
is index arithmetic (a few milliseconds for each shuffled epoch of 60,000 rows).  Functions given to
`map` are not called for elements that are passed over, unless a shuffle, filter, cache or flat_map
comes after them; generators and files are read again up to the place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.optional import Optional, next_of
from manyhands.data.dataset.stage import Rows, Stage, start
from manyhands.data.dataset.structure import map_leaves
from manyhands.errors import DataError, explain
from manyhands.tracebacks import for_the_program

_VERSION = 1


class DatasetIterator:
    """One pass over a dataset."""

    def __init__(
        self, stage: Stage, emit: Callable[[Any], Any] | None, *, only_rows: bool = False
    ) -> None:
        self._stage = stage
        self._emit = emit
        self._run = start(stage, only_rows=only_rows)
        self._rows: Rows | None = None
        self._position = 0

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        with for_the_program:
            if self._rows is None:
                self._rows = self._stage.rows(self._run)
            element = next(self._rows)
            self._position += 1
            return element if self._emit is None else map_leaves(self._emit, element)

    def get_next(self) -> Any:
        """Give the next element, in TensorFlow's spelling."""
        return next(self)

    def get_next_as_optional(self) -> Optional:
        """Give the next element, or say that there is none."""
        return next_of(self)

    @property
    def element_spec(self) -> Any:
        """What its elements look like."""
        return self._stage.spec

    def get_state(self) -> dict[str, Any]:
        """Say where this pass is, as a dict that JSON can hold."""
        return {
            "version": _VERSION,
            "stages": [stage.title for stage in self._stage.walk()],
            "draws": [list(begun) for begun in self._run.begun.values()],
            "position": self._position,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to where a pass over the same pipeline was, in this program or another.

        The dataset goes on from there too: its next pass is what the next pass was to be.
        """
        self._check(state)
        self.close()
        places = self._stage.places()
        begun = {
            draws: (int(seed), int(iteration))
            for draws, (seed, iteration) in zip(places, state["draws"], strict=True)
        }
        for draws, (seed, iteration) in begun.items():
            draws.seed, draws.iteration = seed, iteration + 1
        for stage in self._stage.walk():
            stage.pin(begun)
        self._run = Run(begun, places, self._run.only_rows)
        self._rows = self._stage.rows(self._run)
        self._position = self._rows.skip(state["position"])
        if self._position < state["position"]:
            raise DataError(
                explain(
                    "A saved position lies beyond the end of the dataset.",
                    got=f"position {state['position']} of {self._position} elements",
                    fix="restore it with the data it was saved with.",
                )
            )

    def _check(self, state: dict[str, Any]) -> None:
        stages = [stage.title for stage in self._stage.walk()]
        if state.get("version") != _VERSION or state.get("stages") != stages:
            raise DataError(
                explain(
                    "A saved position belongs to another pipeline.",
                    got=f"saved: {' > '.join(state.get('stages', ['?']))}; here: "
                    f"{' > '.join(stages)}",
                    fix="build the dataset as it was built when the position was saved.",
                )
            )

    def close(self) -> None:
        """Let go of threads and files; also done when the iterator is forgotten."""
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def __del__(self) -> None:
        try:  # not contextlib's words: at exit that module may be gone before us
            self.close()
        except Exception:  # at exit, or not quite made: parts may be missing
            pass
