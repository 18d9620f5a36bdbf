"""One launch at a time: programs that run on the same devices are started by one thread at once.

In: a program to launch.  Out: it is launched while no other thread launches.
Two threads that start two programs on several devices may start them in another order on each, and
then both wait for ever: a sum over devices ends only when all have come to it.
"""

from __future__ import annotations

import threading


class Launching:
    """A lock that knows whether this thread holds it; the same thread may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holder: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._holder, self._depth = threading.get_ident(), self._depth + 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._holder = None
        self._lock.release()

    @property
    def is_mine(self) -> bool:
        """Whether this thread launches something now."""
        return self._holder == threading.get_ident()


launching = Launching()
"""Devices belong to the process, and so does this."""
