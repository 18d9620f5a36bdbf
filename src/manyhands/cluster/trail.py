"""What a process has launched with the others, in order.

In: the name of each launch.  Out: marks, each a number of launches and a digest of their names.
Two processes that did the same have the same digest at the same number; XLA would not notice
otherwise when each runs another of two programs that both know.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from typing import NamedTuple, TypeAlias

EVERY = 64
_SHOWN = 6

Mark: TypeAlias = list
"""How many launches, the digest of their names, the names of the last few."""


class Trail:
    """The launches of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_named = 0
        self._count = 0
        self._digest = 0
        self._recent: deque[str] = deque(maxlen=_SHOWN)
        self._marks: list[Mark] = []

    def named(self, name: str) -> str:
        """Name a program that all processes have just agreed on, so that no other is called so."""
        self._num_named += 1
        return f"{name} (program {self._num_named})"

    def note(self, name: str) -> None:
        """Note a launch."""
        with self._lock:
            self._count += 1
            self._digest = zlib.crc32(name.encode(), self._digest)
            self._recent.append(name)
            if self._count % EVERY == 0:
                self._marks.append(self._now())

    def take_marks(self) -> list[Mark]:
        """Give the marks since the last time."""
        with self._lock:
            marks, self._marks = self._marks, []
        return marks

    def end(self) -> Mark:
        """Give the mark of all launches."""
        with self._lock:
            return self._now()

    def _now(self) -> Mark:
        return [self._count, self._digest, list(self._recent)]


def shown(mark: Mark) -> str:
    """Say what a mark stands for."""
    count, _, recent = mark
    return f"{count} launches, the last {', '.join(recent)}" if recent else "no launch"


class Parting(NamedTuple):
    """Two processes that have not launched the same."""

    one: int
    its: Mark
    other: int
    others: Mark


class Trails:
    """The marks of all processes, side by side."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._first: dict[int, tuple[int, Mark]] = {}
        self._ended: tuple[int, Mark] | None = None

    def parting(self, index: int, marks: list[Mark]) -> Parting | None:
        """Find a mark that another process has otherwise."""
        with self._lock:
            for mark in marks:
                one, its = self._first.setdefault(mark[0], (index, mark))
                if its[1] != mark[1]:
                    return Parting(one, its, index, mark)
            for count in sorted(self._first)[:-_KEPT]:
                del self._first[count]
        return None

    def parting_at_the_end(self, index: int, mark: Mark) -> Parting | None:
        """Find one who has ended after other launches."""
        with self._lock:
            self._ended = self._ended or (index, mark)
            one, its = self._ended
        return None if its[:2] == mark[:2] else Parting(one, its, index, mark)


_KEPT = 4096
"""So many marks a slow process may be behind."""
