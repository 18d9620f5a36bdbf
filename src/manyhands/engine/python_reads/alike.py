"""Whether a place holds what it held: the same object, or another that means the same to a step.

In: what a place holds, and what it held.  Out: whether a step would read the same from both.
An object that has taken another's place is watched from then on, once all else is the same too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from manyhands.engine.fingerprint import is_function
from manyhands.engine.python_reads.reach import CONTAINERS, Reach
from manyhands.engine.python_reads.watches import PLAIN, same_function, same_plain
from manyhands.engine.python_reads.world import slots_of


class Comparison:
    """One look at all places of a step."""

    def __init__(self, reach: Reach) -> None:
        self.later: list[Callable[[], None]] = []
        self._reach = reach

    def __call__(self, now: Any, then: Any) -> bool:
        """Compare by content."""
        if now is then:
            return True
        if type(now) is not type(then):
            return False
        if isinstance(now, PLAIN):
            return same_plain(now, then)
        if isinstance(now, tuple):
            return len(now) == len(then) and all(map(self, now, then))
        if is_function(now):
            return same_function(now, then)
        return self._reach.places.get(id(then)) == 1 and self._takes_its_place(now, then)

    def settle(self) -> None:
        """Note what has taken another's place."""
        for note in self.later:
            note()
        self.later.clear()

    def _takes_its_place(self, now: Any, then: Any) -> bool:
        watches = self._reach.watches
        keys = [(b, a) for b, a in zip(_keys(then), _keys(now), strict=True) if b in watches]
        if not keys or (slots_of(then) and not isinstance(then, (*CONTAINERS, np.ndarray))):
            return False
        for before, after in keys:
            inside = now.__dict__ if before == ("items", id(getattr(then, "__dict__", 0))) else now
            if not watches[before].is_like(inside, self):
                return False
            self.later.append(functools.partial(self._move, before, after))
        self.later.append(functools.partial(self._reach.places.__setitem__, id(now), 1))
        return True

    def _move(self, before: Any, after: Any) -> None:
        self._reach.watches[after] = self._reach.watches.pop(before)


def _keys(value: Any) -> Iterator[Any]:
    """Name the watches that an object can have."""
    fields = id(getattr(value, "__dict__", None))
    return iter((("items", id(value)), id(value), fields, ("items", fields)))
