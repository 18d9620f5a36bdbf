"""The engine of a function outside of any strategy: it runs wherever its values are.

In: a Step.  Out: a Program that moves nothing.
"""

from __future__ import annotations

from typing import Any

import jax

from manyhands.engine.batch import Batch
from manyhands.engine.placing import unshared
from manyhands.engine.step import Result, State, Step


class AnywhereProgram:
    """One step, compiled for where its values are."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._num_written = sum(leaf.is_written for leaf in step.leaves)
        self._donating = jax.jit(self._run, donate_argnums=0)
        self._keeping = jax.jit(self._run)

    def place_state(self, state: State, *, agree: bool = False) -> State:
        """Leave the state where it is; no two parts share a buffer."""
        del agree
        count = self._num_written
        kept = state[count:]
        return [*unshared([*kept, *state[:count]])[len(kept) :], *kept]

    def __call__(self, state: State, batch: Batch, *, donate: bool = True) -> tuple[Result, State]:
        """Run one step."""
        count = self._num_written
        compiled = self._donating if donate else self._keeping
        given, written = compiled(state[:count], state[count:], batch.arrays)
        return given, [*written, *state[count:]]

    def _run(self, written: State, kept: State, arrays: list[Any]) -> tuple[Result, State]:
        given, after = self._step([*written, *kept], arrays)
        return given, after[: len(written)]

    def local(self, part: Any) -> Any:
        """What Python holds is what ran."""
        return part

    def text(self, state: State, batch: Batch) -> str:
        """Give the compiled program as XLA prints it."""
        count = self._num_written
        lowered = self._donating.lower(state[:count], state[count:], batch.arrays)
        return lowered.compile().as_text() or ""
