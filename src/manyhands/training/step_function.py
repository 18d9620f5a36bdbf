"""What Keras calls as `train_function(state, iterator)`: a Program run over a feed.

In: the state Keras' loop carries and a Feed (or any iterator of host batches).
Out: logs and the next state, which the model holds from the moment the old one is used up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import jax

from manyhands import keras_bridge
from manyhands.data import ArrayFeed, StreamFeed
from manyhands.engine import Program
from manyhands.engine.agreement import Agreement
from manyhands.engine.interrupts import interrupts
from manyhands.engine.launches import launching
from manyhands.engine.pace import Pace
from manyhands.keras_bridge import Role
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
        self._pace = Pace(launches_ahead)
        self._held: Any = None
        self._state: Any = None

    def __call__(self, state: Any, iterator: Iterator[Any]) -> tuple[Any, Any]:
        """Run the next turn of the feed."""
        if iterator is keras_bridge.ended:
            unchanged = [array for part in state for array in part]
            parts = keras_bridge.hold_state(self._model, self._role, unchanged, lambda value: value)
            return self._model.get_metrics_result(), parts
        if self._agreement is None and keras_bridge.give_turns(self._model):
            self._held = None  # others may have copied what it holds
        begins = getattr(iterator, "begins", True)  # before the work is taken
        work = self._work(iterator)
        given = []
        with interrupts.held(), self._launching():
            agree = self._agreement is not None and begins
            if state is not self._held or agree:
                own = keras_bridge.own_state(state)
                self._state = self.program.place_state(own, agree=agree)
                del own
            for batches in work:
                logs, self._state = self.program(self._state, batches)
                self._held = keras_bridge.hold_state(
                    self._model, self._role, self._state, self.program.local
                )
                given.append(logs)
            if not self._pace.ahead:
                self._pace.launched(given[-1], self._waiting())
        if self._pace.ahead:
            self._pace.launched(given[-1], self._waiting())
        call = calls.current(self._model)
        if call is not None and call.watched:
            keras_bridge.release_state(self._model)
        return self._joined(given), self._held

    def _launching(self) -> Any:
        """Keep other threads from launching on these devices; several processes have one order."""
        return launching if self._agreement is None else nullcontext()

    def _waiting(self) -> Any:
        """Say to the other processes that we compute, which they must do too."""
        if self._agreement is None:
            return nullcontext()
        return self._agreement.group.waiting(f"computing a {self._role} step with the others")

    def _work(self, iterator: Iterator[Any]) -> list[Any]:
        if isinstance(iterator, ArrayFeed | StreamFeed) and iterator.is_begun:
            return iterator.take()
        return [self.program.rows.place_batch(next(iterator))]

    def forget(self) -> None:
        """Hold on to nothing when a call has ended."""
        self._held = self._state = None
        self._pace.forget()

    def _joined(self, given: list[Any]) -> Any:
        if self._role != "predict" or len(given) == 1:
            return given[-1]
        return jax.tree.map(lambda *parts: jax.numpy.concatenate(parts), *given)
