"""The eager engine: a step that must see concrete values (`run_eagerly=True`), on many devices.

In: a pure step and a Placement.  Out: a Program that compiles nothing.
Each operation runs over all devices where the rows divide, and on full copies where they do not:
exact either way, and slow, as the user asked.  Across processes each runs all rows by itself.
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import numpy as np

from manyhands.engine.batch import (
    Arrays,
    Batch,
    Batches,
    Picks,
    RowLayout,
    Stack,
    layout_of,
    leaves,
    rebuild,
)
from manyhands.engine.placement import Placement
from manyhands.engine.program import Logs, Memory, State, Step


class EagerProgram:
    """One step run operation by operation."""

    def __init__(
        self, step: Step, placement: Placement, *, gives: Literal["logs", "rows"] = "logs"
    ) -> None:
        self._step = step
        self._placement = Placement(placement.own_devices)
        self._gives = gives

    def place_state(self, state: State) -> State:
        """Copy the state to every device."""
        return jax.device_put(state, self._placement.whole)

    def share(self, num_rows: int) -> slice:
        """All rows: each process runs the whole step."""
        return slice(0, num_rows)

    def place_batch(self, batch: Arrays, num_rows: int | None = None) -> Batch:
        """Split the rows where they divide, copy them where they do not."""
        del num_rows
        layout = layout_of(batch, 1)
        even = layout.num_rows % self._placement.num_replicas == 0
        places = [
            self._placement.rows if has_rows and even else self._placement.whole
            for has_rows in layout.carries_rows
        ]
        return Batch(rebuild(batch, jax.device_put(leaves(batch), places)), layout)

    def place_stack(self, stack: Arrays, num_steps: int, num_rows: int | None = None) -> Stack:
        """Copy several steps' rows to every device."""
        del num_rows
        first = rebuild(stack, [part[0] for part in leaves(stack)])
        return Stack(jax.device_put(stack, self._placement.whole), layout_of(first, 1), num_steps)

    def place_data(self, data: Arrays) -> Arrays:
        """Copy a data set to every device."""
        return jax.device_put(data, self._placement.whole)

    def place_picks(self, data: Arrays, rows: np.ndarray) -> Picks:
        """Copy row numbers to every device."""
        layout = RowLayout(rows.shape[1], rows.shape[1], (True,) * len(leaves(data)))
        return Picks(data, jax.device_put(rows.astype(np.int32), self._placement.whole), layout)

    def __call__(self, state: State, batch: Batch) -> tuple[Logs, State]:
        """Run one step."""
        return self._step(state, batch.arrays)

    def many(self, state: State, batches: Batches) -> tuple[Logs, State]:
        """Run several steps, one after the other."""
        given: list[Any] = []
        for i in range(batches.num_steps):
            logs, state = self._step(state, _nth(batches, i))
            given.append(logs)
        if self._gives == "logs" or len(given) == 1:
            return given[-1], state
        return jax.tree.map(lambda *parts: jax.numpy.concatenate(parts), *given), state

    def held(self, part: Any) -> Any:
        """What Python holds is what ran."""
        return part

    def flops(self, state: State, layout: RowLayout, arrays: Arrays) -> float | None:  # noqa: ARG002
        """Nobody counts what is not compiled."""
        return None

    def narrowed(self) -> list[str]:
        """List nothing: all is done as it is written."""
        return []

    def memory(self) -> Memory | None:
        """Nobody plans what is not compiled."""
        return None


def _nth(batches: Batches, i: int) -> Arrays:
    if isinstance(batches, Batch):
        return batches.arrays
    if isinstance(batches, Stack):
        return jax.tree.map(lambda part: part[i], batches.arrays)
    return jax.tree.map(lambda part: part[batches.rows[i]], batches.data)
