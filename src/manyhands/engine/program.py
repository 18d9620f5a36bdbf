"""The one interface of the engines.

A loop hands host values to `place_*`, calls the program, and knows nothing else about devices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from manyhands.engine.batch import Arrays, Batch, Batches, Picks, RowLayout, Stack

State: TypeAlias = tuple[list[Any], ...]
Logs: TypeAlias = Any
Step: TypeAlias = Callable[[State, Arrays], tuple[Logs, State]]
"""A pure step: it returns what it computed and the next state."""


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


class Program(Protocol):
    """A compiled step. Loops know nothing else about devices."""

    def place_state(self, state: State) -> State:
        """Put the state where this program wants it."""
        ...

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch this process feeds."""
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

    def __call__(self, state: State, batch: Batch) -> tuple[Logs, State]:
        """Run one step; the state given is used up."""
        ...

    def many(self, state: State, batches: Batches) -> tuple[Logs, State]:
        """Run several steps in one launch; the logs are the last step's."""
        ...

    def held(self, part: Any) -> Any:
        """Give an array of the state as Python holds it between steps."""
        ...

    def flops(self, state: State, layout: RowLayout, arrays: Arrays) -> float | None:
        """Estimate one step's work before anything is compiled; None where nobody can tell."""
        ...

    def narrowed(self) -> list[str]:
        """List the operations that were done in another way because XLA could not split them."""
        ...

    def memory(self) -> Memory | None:
        """What a run takes on each device, as XLA counts it; None before there was one."""
        ...
