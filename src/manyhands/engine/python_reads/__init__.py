"""What a step reads from Python, besides its arguments and variables.

In: a step that is being traced.  Out: PythonReads: every place that it has read, as it was.
A compiled step is right only while those places hold what they held; a step that changes one of
them, or reads what cannot be followed, must run as Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from manyhands.engine.python_reads.alike import Comparison
from manyhands.engine.python_reads.inside import UnfollowedError
from manyhands.engine.python_reads.listener import Listener
from manyhands.engine.python_reads.of_keras import watch_of_seeds, watches_of_keras
from manyhands.engine.python_reads.quick import Quick
from manyhands.engine.python_reads.reach import Reach
from manyhands.engine.python_reads.watches import PLAIN

__all__ = ["PythonReads", "UnfollowedError"]


class PythonReads:
    """What one trace of a step has read.

    Args:
        roots: the objects that the step begins with.
        is_frozen: whether the step means what it meant when it was traced, as in a tf.function:
            then what it read is known, and nothing of it has to stay as it was.
    """

    def __init__(self, roots: Iterable[Any], *, is_frozen: bool = False) -> None:
        self.is_frozen = is_frozen
        self._roots = list(roots)
        self._reach = Reach()
        self._watches: list[Any] = []
        self._quick: Quick | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Follow what is read in here."""
        for root in self._roots:
            self._reach.root(root)
        listener = Listener(self._reach, is_frozen=self.is_frozen)
        with listener:
            try:
                yield
            except Exception:
                if listener.failed is None:
                    raise  # otherwise it is what the step made of that failure
        if listener.failed is not None:
            raise listener.failed
        self._watches = list(watches_of_keras(listener.keras.values()))
        if listener.draws_seeds:
            self._watches.append(watch_of_seeds())

    def changed(self) -> str | None:
        """Name what the step has changed itself, None if nothing that matters."""
        return None if self.is_frozen else self._different(self._reach.registry.watches.values())

    def settle(self) -> None:
        """Keep what was read, now that the step has been traced, and no more."""
        if self.is_frozen:
            self._watches = []
            return
        self._watches = [*self._reach.registry.watches.values(), *self._watches]
        self._roots.clear()
        self._reach.forget()

    def hold(self) -> bool:
        """Whether every place holds what it held."""
        alike = Comparison(self._reach.registry)
        if self._quick is not None and self._quick.holds(alike):
            return True
        try:
            same = all(watch.holds(alike) for watch in self._watches)
        except RecursionError:  # a nest as deep as that, made anew
            same = False
        if not same:
            return False
        alike.settle()
        self._quick = Quick(self._watches)
        return True

    def difference(self) -> str | None:
        """Name a place that holds something else now."""
        return self._different(self._watches)

    def restore(self) -> None:
        """Put everything back, but for what a model was made of on the way."""
        for watch in self._reach.registry.watches.values():
            watch.restore()

    def plain_values(self) -> Iterator[Any]:
        """List the numbers and strings that were read."""
        for watch in self._reach.registry.watches.values():
            yield from (value for value in watch.values() if isinstance(value, PLAIN))

    def _different(self, watches: Iterable[Any]) -> str | None:
        alike = Comparison(self._reach.registry)
        return next((watch.changed() for watch in watches if not watch.holds(alike)), None)
