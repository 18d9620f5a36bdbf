"""Whether a place holds what it held: the same object, or another that means the same to a step.

In: what a place holds, and what it held.  Out: whether a step would read the same from both.
Numbers and texts are compared by content, plain containers and arrays too; one that has taken
another's place is watched from then on, once all else is the same.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from manyhands.engine.python_reads.registry import Registry
from manyhands.engine.python_reads.watches import PLAIN, same_plain


class Comparison:
    """One look at all places of a step."""

    def __init__(self, registry: Registry) -> None:
        self.later: list[Callable[[], None]] = []
        self._registry = registry
        self._taken: set[int] = set()

    def __call__(self, now: Any, then: Any) -> bool:
        """Compare by content."""
        if now is then:
            return True
        kind = type(now)
        if kind is not type(then):
            return False
        if isinstance(now, PLAIN):
            return kind in _EXACTLY_PLAIN and same_plain(now, then)
        if kind is tuple:
            return len(now) == len(then) and all(map(self, now, then))
        return kind in _BY_CONTENT and self._takes_its_place(now, then)

    def settle(self) -> None:
        """Note what has taken another's place."""
        for note in self.later:
            note()
        self.later.clear()

    def _is_elsewhere(self, now: Any) -> bool:
        """Whether another place holds, or has just been given, the very same object."""
        return id(now) in self._registry.places or id(now) in self._taken

    def _takes_its_place(self, now: Any, then: Any) -> bool:
        registry = self._registry
        watch = registry.watches.get(id(then))
        if watch is None or registry.places.get(id(then)) != 1 or self._is_elsewhere(now):
            return False  # `a is b` would not be what it was
        self._taken.add(id(now))
        if not watch.is_like(now, self):
            return False
        self.later.append(functools.partial(registry.move, id(then), id(now)))
        return True


_EXACTLY_PLAIN = {bool, int, float, complex, str, bytes, type(None)} | {
    np.dtype(code).type for code in np.typecodes["All"] if code not in "OSUV"
}
_BY_CONTENT = {list, dict, deque, np.ndarray, types.FunctionType}
