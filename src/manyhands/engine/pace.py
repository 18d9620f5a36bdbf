"""How far the host may run ahead of the devices.

In: what each launch gives.  Out: the host waits where it is too far ahead: what runs ahead holds
memory, and XLA's CPU collectives starve each other of threads when several programs wait.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from manyhands.engine.layout import Layout


def launches_ahead(layout: Layout) -> int:
    """How many launches may wait for the devices."""
    if layout.platform != "cpu":
        return 4
    return 0 if layout.mesh.size > 1 else 1


class Pace:
    """Stays a few launches ahead of the devices, not more."""

    def __init__(self, ahead: int) -> None:
        self.ahead = ahead
        self._running: deque[Any] = deque()

    def launched(self, given: Any, waiting: AbstractContextManager | None = None) -> None:
        """Note a launch by what it gives; wait for the oldest if there are too many."""
        self._running.append(given)
        if len(self._running) > self.ahead:
            with waiting or nullcontext():
                jax.block_until_ready(self._running.popleft())

    def forget(self) -> None:
        """Hold on to nothing."""
        self._running.clear()
