"""Stop all processes after the same step, when one of them is asked to stop.

In: a wish to stop, from any process, at any time; each process' steps as they pass.  Out: the one
step after which `reached` says yes, everywhere.
A process that has told how far it is waits at its next step until the last step is chosen, so
nobody can pass it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from manyhands.cluster.wire import Message

_WAIT_S = 30.0


class Stops:
    """This process' part in stopping together."""

    def __init__(self, say: Callable[[Message], None]) -> None:
        self._say = say
        self._changed = threading.Condition()
        self._step = 0
        self._asked = False
        self._last: int | None = None

    def wish(self) -> None:
        """Ask everybody to stop soon."""
        self._say({"kind": "stop"})

    def reached(self, num_steps: int) -> bool:
        """Whether all stop here, so many steps after the last time this was asked.

        Steps are counted from the program's begin: one `fit` may follow another.
        """
        with self._changed:
            if self._asked and self._last is None:
                self._changed.wait_for(lambda: self._last is not None, _WAIT_S)
            self._step += num_steps
            return self._last is not None and self._step >= self._last

    def take(self, message: Message) -> None:
        """Hear what process 0 says about stopping."""
        with self._changed:
            if message["kind"] == "stop!":
                self._last = message["step"]
                self._changed.notify_all()
            elif not self._asked:
                self._asked = True
                self._say({"kind": "stop_at", "step": self._step})
