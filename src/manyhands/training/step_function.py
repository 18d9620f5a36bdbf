"""What Keras calls as `train_function(state, iterator)`: a Program run over a feed.

In: the state Keras' loop carries and a Feed (or any iterator of host batches).
Out: logs and the next state, which the model holds from the moment the old one is used up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import jax

from manyhands.data import ArrayFeed, StreamFeed
from manyhands.engine import Program, Role, keras_inside
from manyhands.engine.agreement import Agreement
from manyhands.engine.interrupts import interrupts
from manyhands.engine.launches import launching
from manyhands.training import call as calls


class StepFunction:
    """One role of one model, compiled."""

    def __init__(
        self,
        model: Any,
        role: Role,
        program: Program,
        *,
        launches_ahead: int,
        agreement: Agreement | None = None,
    ) -> None:
        self.program = program
        self._agreement = agreement
        self.steps_per_launch: dict[Any, int] = {}
        self._model = model
        self._role: Role = role
        self._launches_ahead = launches_ahead
        self._running: deque[Any] = deque()
        self._held: Any = None
        self._num_steps = 0
        self._state: Any = None

    def __call__(self, state: Any, iterator: Iterator[Any]) -> tuple[Any, Any]:
        """Run the next turn of the feed."""
        if iterator is keras_inside.ended:
            unchanged = tuple(list(part) for part in state)
            parts = keras_inside.hold_state(self._model, self._role, unchanged, lambda value: value)
            return self._model.get_metrics_result(), parts
        if self._agreement is None and keras_inside.give_turns(self._model):
            self._held = None  # others may have copied what it holds
        begins = getattr(iterator, "begins", True)  # before the work is taken
        work = self._work(iterator)
        given = []
        with interrupts.held(), self._launching():
            agree = self._agreement is not None and begins
            if state is not self._held or agree:
                parts = keras_inside.own_state(state)
                self._state = self.program.place_state(self._agreed(parts) if agree else parts)
            for batches in work:
                logs, self._state = self._launch(batches)
                self._held = keras_inside.hold_state(
                    self._model, self._role, self._state, self.program.held
                )
                given.append(logs)
            if not self._launches_ahead:
                self._pace(given[-1])
        if self._launches_ahead:
            self._pace(given[-1])
        call = calls.current(self._model)
        if call is not None and call.watched:
            keras_inside.release_state(self._model)
        return self._joined(given), self._held

    def _launching(self) -> Any:
        """Keep other threads from launching on these devices; several processes have one order."""
        return launching if self._agreement is None else nullcontext()

    def _launch(self, batches: Any) -> Any:
        self._num_steps += batches.num_steps
        if self._agreement is not None:
            self._agreement.group.at_step(self._num_steps)
        with self._waiting():
            return self.program.many(self._state, batches)

    def _waiting(self) -> Any:
        """Say to the other processes that we compute, which they must do too."""
        if self._agreement is None:
            return nullcontext()
        return self._agreement.group.waiting(f"computing a {self._role} step with the others")

    def _agreed(self, parts: Any) -> Any:
        """Begin an epoch with the same state on every process."""
        assert self._agreement is not None, "there are several"
        flat, structure = jax.tree.flatten(parts)
        names = keras_inside.state_names(self._model, self._role)
        return jax.tree.unflatten(structure, self._agreement.state(names, flat))

    def _work(self, iterator: Iterator[Any]) -> list[Any]:
        if isinstance(iterator, ArrayFeed | StreamFeed) and iterator.is_begun:
            return iterator.take()
        return [self.program.place_batch(next(iterator))]

    def _pace(self, logs: Any) -> None:
        """Stay a few launches ahead of the devices, not more: what runs ahead holds memory."""
        self._running.append(logs)
        if len(self._running) > self._launches_ahead:
            with self._waiting():
                jax.block_until_ready(self._running.popleft())

    def forget(self) -> None:
        """Hold on to nothing when a call has ended."""
        self._held = self._state = None
        self._running.clear()

    def _joined(self, given: list[Any]) -> Any:
        if self._role != "predict" or len(given) == 1:
            return given[-1]
        return jax.tree.map(lambda *parts: jax.numpy.concatenate(parts), *given)
