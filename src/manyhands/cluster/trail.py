"""What a process has launched with the others, in order.

In: the name of each launch.  Out: marks, each a number of launches and a digest of their names.
Two processes that did the same have the same digest at the same number; XLA would not notice
otherwise when each runs another of two programs that both know.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from typing import TypeAlias

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


class Trails:
    """The marks of all processes, side by side."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[int, Mark]] = {}
        self._ended: tuple[int, Mark] | None = None

    def parted(self, index: int, marks: list[Mark]) -> tuple[int, Mark, Mark] | None:
        """Find a mark that another process has otherwise: who, their mark, ours."""
        for mark in marks:
            other, theirs = self._first.setdefault(mark[0], (index, mark))
            if theirs[1] != mark[1]:
                return other, theirs, mark
        for count in sorted(self._first)[:-_KEPT]:
            del self._first[count]
        return None

    def ended_otherwise(self, index: int, mark: Mark) -> tuple[int, Mark, Mark] | None:
        """Find one who has ended after other launches."""
        if self._ended is None:
            self._ended = index, mark
        other, theirs = self._ended
        return None if theirs[:2] == mark[:2] else (other, theirs, mark)


_KEPT = 4096
"""So many marks a slow process may be behind."""
