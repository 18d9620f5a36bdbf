"""The one interface of the engines.

A loop hands host values to the places they are wanted at, calls the program, and knows nothing else
about devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from manyhands.engine.batch import Arrays, Batch, Batches, BatchSpec, Picks, Stack
from manyhands.engine.layout import Layout
from manyhands.engine.step import Result, State, Step

Gives = Literal["logs", "rows"]
"""What a step's results are: numbers of the whole batch, or values led by its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes that one run of a program takes on each device, by XLA's own count."""

    arguments_bytes: int
    outputs_bytes: int
    temporaries_bytes: int
    reused_bytes: int

    @property
    def peak_bytes(self) -> int:
        """The most that is held at once; excludes NCCL, cuDNN and fragmentation."""
        return (
            self.arguments_bytes + self.outputs_bytes + self.temporaries_bytes - self.reused_bytes
        )


class RowPlaces(Protocol):
    """Puts rows where a program wants them."""

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch this process feeds."""
        ...

    def spec(self, arrays: Arrays, num_rows: int | None = None) -> BatchSpec:
        """Describe a batch before it is placed."""
        ...

    def place_batch(self, batch: Arrays, num_rows: int | None = None) -> Batch:
        """Put the rows of one step on the devices; with `num_rows`, our share of so many."""
        ...

    def place_stack(self, stack: Arrays, num_steps: int, num_rows: int | None = None) -> Stack:
        """Put the rows of several steps on the devices; every leaf leads with the step."""
        ...

    def place_data(self, data: Arrays) -> Arrays:
        """Put a whole data set on the devices, to pick rows from."""
        ...

    def place_picks(self, data: Arrays, rows: np.ndarray) -> Picks:
        """Choose rows of data that is on the devices: one line of row numbers a step."""
        ...


class Program(Protocol):
    """A compiled step."""

    @property
    def rows(self) -> RowPlaces:
        """Puts rows where this program wants them."""
        ...

    def place_state(self, state: State, *, agree: bool = False) -> State:
        """Put the state where this program wants it; no two parts share a buffer.

        With `agree`, every process begins with the same: process 0's, where they differ.
        """
        ...

    def __call__(
        self, state: State, batches: Batches, *, donate: bool = True
    ) -> tuple[Result, State]:
        """Run one step, or several in one launch: the logs are then the last one's.

        With `donate`, the arrays that the step writes are used up.
        """
        ...

    def local(self, part: Any) -> Any:
        """Give an array of the state or of a result as Python holds it between steps."""
        ...

    def flops(self, state: State, spec: BatchSpec, arrays: Arrays) -> float | None:
        """Estimate one step's work before anything is compiled; None where nobody can tell."""
        ...

    def memory(self) -> Memory | None:
        """What a run takes on each device, as XLA counts it; None before there was one."""
        ...

    def narrowed(self) -> list[str]:
        """List the operations that were done in another way because XLA could not split them."""
        ...


class Engine(Protocol):
    """Turns steps into programs, on one layout."""

    @property
    def layout(self) -> Layout:
        """Where state and rows live."""
        ...

    def compile(self, step: Step, *, gives: Gives) -> Program:
        """Make a program of a step."""
        ...
