"""Whether nothing has changed, asked at every call of a step: in one pass that never leaves C.

In: watches.  Out: whether each place still holds the very objects it held.  A place that holds
another object has to be looked at more closely; what is compared here is identity alone.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, starmap
from typing import Any

from manyhands.engine.python_reads.watches import Items

_SIZED = (list, dict, set, deque)


def _size(held: Any) -> Callable[[Any], int]:
    """Give what counts a container's items, whatever a subclass of it does."""
    return next(kind.__len__ for kind in _SIZED if isinstance(held, kind))


class Quick:
    """All places of a step, laid end to end."""

    def __init__(self, watches: Iterable[Any]) -> None:
        watches = list(watches)
        flat = [watch.flat() for watch in watches]
        ways = [way for found in flat if found is not None for way in found]
        self._asked = [watch for watch, found in zip(watches, flat, strict=True) if found is None]
        self._reads = [(read, held) for read, held, _ in ways]
        self._values = [value for *_, values in ways for value in values]
        held = [watch.held for watch in watches if isinstance(watch, Items)]
        self._sizes = [(_size(part), part) for part in held]
        self._lengths = list(starmap(operator.call, self._sizes))

    def holds(self, alike: Any) -> bool:
        """Whether every place holds what it held, the very same objects."""
        if list(starmap(operator.call, self._sizes)) != self._lengths:
            return False
        read: Any = starmap(operator.call, self._reads)  # as many values as before, by the sizes
        try:
            same = all(map(operator.is_, chain.from_iterable(read), self._values))
        except KeyError:  # a field is gone
            return False
        return same and all(watch.holds(alike) for watch in self._asked)
