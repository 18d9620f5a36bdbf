"""The eager engine: a step that must see concrete values (`run_eagerly=True`), on many devices.

In: a Step and a Layout.  Out: a Program that compiles nothing.
Each operation runs over all devices where the rows divide, and on full copies where they do not:
exact either way, and slow, as the user asked.  Across processes each runs all rows by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from manyhands.engine.batch import (
    Arrays,
    Batch,
    Batches,
    BatchSpec,
    Picks,
    Stack,
    leaves,
    rebuild,
    rows_of,
)
from manyhands.engine.layout import Layout, replicated
from manyhands.engine.program import Gives, Memory
from manyhands.engine.step import Result, State, Step


@dataclass(frozen=True)
class EagerEngine:
    """Runs steps operation by operation, on the local devices of a layout."""

    around: Layout

    @cached_property
    def layout(self) -> Layout:
        """The local devices, each with the whole state."""
        return replicated(self.around.local_devices)

    def compile(self, step: Step, *, gives: Gives = "logs") -> EagerProgram:
        """Make a program of a step."""
        return EagerProgram(step, self.layout, gives=gives)


class _EagerRows:
    """Puts rows on the devices: split where they divide, as copies where they do not."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def share(self, num_rows: int) -> slice:
        """All rows: each process runs the whole step."""
        return slice(0, num_rows)

    def spec(self, arrays: Arrays, num_rows: int | None = None) -> BatchSpec:
        """Describe a batch: nothing is filled up."""
        del num_rows
        rows = rows_of(arrays)
        return BatchSpec(rows, BatchSpec(rows, 0).num_rows)

    def place_batch(self, batch: Arrays, num_rows: int | None = None) -> Batch:
        """Split the rows where they divide, copy them where they do not."""
        spec, layout = self.spec(batch, num_rows), self._layout
        split = layout.split_rows if layout.rows.divides(spec.num_rows) else layout.replicated
        places = [layout.replicated if count is None else split for count in spec.rows]
        return Batch(rebuild(batch, jax.device_put(leaves(batch), places)), spec)

    def place_stack(self, stack: Arrays, num_steps: int, num_rows: int | None = None) -> Stack:
        """Copy several steps' rows to every device."""
        first = rebuild(stack, [part[0] for part in leaves(stack)])
        placed = jax.device_put(stack, self._layout.replicated)
        return Stack(placed, self.spec(first, num_rows), num_steps)

    def place_data(self, data: Arrays) -> Arrays:
        """Copy a data set to every device."""
        return jax.device_put(data, self._layout.replicated)

    def place_picks(self, data: Arrays, rows: np.ndarray) -> Picks:
        """Copy row numbers to every device."""
        spec = BatchSpec((rows.shape[1],) * len(leaves(data)), rows.shape[1])
        return Picks(data, jax.device_put(rows.astype(np.int32), self._layout.replicated), spec)


class EagerProgram:
    """One step run operation by operation."""

    def __init__(self, step: Step, layout: Layout, *, gives: Gives = "logs") -> None:
        self.rows = _EagerRows(layout)
        self._step = step
        self._layout = layout
        self._gives: Gives = gives

    def place_state(self, state: State, *, agree: bool = False) -> State:
        """Copy the state to every device."""
        del agree
        return jax.device_put(state, self._layout.replicated)

    def __call__(
        self, state: State, batches: Batches, *, donate: bool = True
    ) -> tuple[Result, State]:
        """Run the steps, one after the other."""
        del donate
        if isinstance(batches, Batch):
            return self._step(state, batches.arrays)
        given: list[Any] = []
        for i in range(batches.num_steps):
            logs, state = self._step(state, _nth(batches, i))
            given.append(logs)
        if self._gives == "logs" or len(given) == 1:
            return given[-1], state
        return jax.tree.map(lambda *parts: jax.numpy.concatenate(parts), *given), state

    def local(self, part: Any) -> Any:
        """What Python holds is what ran."""
        return part

    def flops(self, state: State, spec: BatchSpec, arrays: Arrays) -> float | None:  # noqa: ARG002
        """Nobody counts what is not compiled."""
        return None

    def memory(self) -> Memory | None:
        """Nobody plans what is not compiled."""
        return None

    def narrowed(self) -> list[str]:
        """List nothing: all is done as it is written."""
        return []


def _nth(batches: Stack | Picks, i: int) -> Arrays:
    if isinstance(batches, Stack):
        return jax.tree.map(lambda part: part[i], batches.arrays)
    return jax.tree.map(lambda part: part[batches.rows[i]], batches.data)
