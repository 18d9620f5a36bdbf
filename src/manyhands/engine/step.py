"""A training step, as a value: a pure function of its state and a batch, and what its state is.

Lifted from Keras' steps (`lift`) and from a traced `strategy.run` (`traced_step`) alike; engines
know nothing else of either.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from manyhands.engine.batch import Arrays
from manyhands.engine.leaf import Leaf

State: TypeAlias = list[Any]
"""The arrays of a step's state, in the order of its leaves."""
Result: TypeAlias = Any


class Step(Protocol):
    """A pure step."""

    name: str

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The arrays of the state, by name and in order."""
        ...

    def __call__(self, state: State, rows: Arrays) -> tuple[Result, State]:
        """Give what the step computes, and the whole next state."""
        ...
