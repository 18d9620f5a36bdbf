"""Threads that use one model take turns.

In: the calls that threads make on a model.  Out: one call at a time, in the order in which they
came.  A thread may call again inside its own call.
`fit` gives turns between two launches, and every call does while a callback of the program runs:
then another thread may predict or evaluate, and finds the state that the last launch left, whole.
It is a guest: what it does leaves no trace in the call that it came into, and it gives no turns
itself.  Training while another thread's `fit` runs is refused: the two would overwrite each other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class _Ticket:
    """One thread's place in the queue."""

    thread: int
    alone: bool
    """It waits until no other is in the middle of a call; but for a `fit`, which it hears of."""


class Turns:
    """Whose turn it is with one model."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owner: int | None = None
        self._depth = 0
        self._queue: deque[_Ticket] = deque()
        self._host: int | None = None
        self._is_fit = False

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        """Give a copy of a model turns of its own."""
        return Turns, ()

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for a turn from the `fit` of this thread."""
        is_mine = self._host == self._owner == threading.get_ident()
        return bool(self._queue) and self._is_fit and is_mine

    @property
    def is_guest(self) -> bool:
        """Whether this thread comes into the call of another."""
        return self._host not in (None, threading.get_ident())

    @property
    def is_in_fit(self) -> bool:
        """Whether that call is a `fit`."""
        return self.is_guest and self._is_fit

    @contextmanager
    def taken(self, *, alone: bool = False) -> Iterator[None]:
        """Wait for a turn, and have it until the end of the block; `alone`, never as a guest."""
        self._take(1, alone=alone)
        try:
            yield
        finally:
            self._leave(1)

    @contextmanager
    def hosting(self, *, is_fit: bool) -> Iterator[None]:
        """Note that the block is a call of this thread, which may give turns."""
        if self._host is not None:  # it is inside another of its calls
            yield
            return
        self._host, self._is_fit = threading.get_ident(), is_fit
        try:
            yield
        finally:
            self._host = None
            with self._changed:
                self._changed.notify_all()

    @contextmanager
    def given(self) -> Iterator[None]:
        """Let others have their turns during the block; then wait for one again."""
        if self._owner != threading.get_ident() or self.is_guest:
            yield
            return
        depth = self._depth
        self._leave(depth)
        try:
            yield
        finally:
            self._take(depth)

    def _take(self, times: int, *, alone: bool = False) -> None:
        me = threading.get_ident()
        with self._changed:
            if self._owner is None and not self._queue and self._host in (None, me):
                self._owner = me  # as nearly always
            elif self._owner != me:
                ticket = _Ticket(me, alone)
                self._queue.append(ticket)
                try:
                    self._changed.wait_for(lambda: self._is_next(ticket))
                    self._owner = me
                finally:  # also when Ctrl-C ends the wait
                    self._queue.remove(ticket)
                    self._changed.notify_all()
            self._depth += times

    def _is_next(self, ticket: _Ticket) -> bool:
        ready = (one for one in self._queue if not self._has_to_wait(one))
        return self._owner is None and ticket is next(ready, None)

    def _has_to_wait(self, ticket: _Ticket) -> bool:
        return ticket.alone and self._host not in (None, ticket.thread) and not self._is_fit

    def _leave(self, times: int) -> None:
        with self._changed:
            if self._owner != threading.get_ident():
                return  # the wait to have it back was interrupted
            self._depth -= times
            if self._depth <= 0:
                self._owner, self._depth = None, 0
                self._changed.notify_all()
