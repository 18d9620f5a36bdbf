"""Passes one after another: what `repeat` means, whatever a pass gives.

In: how a pass begins, and how many there are.  Out: the pass that is open.  An empty pass is the
last, for nothing would come of repeating it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar


class Pass(Protocol):
    """Rows, or their numbers."""

    def skip(self, count: int) -> int:
        """Pass over; give how many there were."""
        ...


P = TypeVar("P", bound=Pass)


class Passes(Generic[P]):
    """So many passes; for ever when `times` is negative."""

    def __init__(
        self,
        again: Callable[[], P],
        times: int,
        *,
        even_if_empty: bool = False,
        let_go: Callable[[P], Any] = lambda _: None,
    ) -> None:
        self._again = again
        self._left = times
        self._even_if_empty = even_if_empty
        self._let_go = let_go
        self._now: P | None = None
        self._empty = True

    def open(self) -> P | None:
        """Give the pass that is open, or begin the next; None after the last."""
        if self._now is None and self._left:
            self._now = self._again()
            self._left -= 1
            self._empty = True
        return self._now

    def gave(self, count: int) -> None:
        """Note how much the open pass gave."""
        self._empty &= not count

    def end(self) -> None:
        """End the open pass; what is opened then is the next."""
        self.close()
        if self._empty and not self._even_if_empty:
            self._left = 0

    def close(self) -> None:
        """Let go of the open pass."""
        if self._now is not None:
            self._let_go(self._now)
            self._now = None

    def skip(self, count: int) -> int:
        """Pass over, pass by pass."""
        done = 0
        while done < count and (now := self.open()) is not None:
            part = now.skip(count - done)
            done += part
            self.gave(part)
            if done < count:
                self.end()
        return done
