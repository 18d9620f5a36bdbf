"""What a step reads from Python, besides its arguments and variables.

In: a step that is being traced.  Out: PythonReads: every place that it has read, as it was.
A compiled step is right only while those places hold what they held; a step that changes one of
them, or reads what cannot be followed, must run as Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np

from manyhands.engine.python_reads.alike import Comparison
from manyhands.engine.python_reads.inside import UnfollowedError
from manyhands.engine.python_reads.listener import Listener
from manyhands.engine.python_reads.owners import is_programs
from manyhands.engine.python_reads.quick import Quick
from manyhands.engine.python_reads.reach import Reach
from manyhands.engine.python_reads.watches import PLAIN, Array, Fields, Items

__all__ = ["PythonReads", "UnfollowedError"]

_BOOKKEEPING = {"_losses", "_loss_ids", "_called", "_metrics", "_post_track_variable"}
"""What Keras notes on its objects while it computes."""


_OF_A_VARIABLE = {"_trainable", "_regularizer", "_constraint", "_autocast"}
_KINDS = (
    keras.Variable,
    keras.Operation,
    keras.losses.Loss,
    keras.metrics.Metric,
    keras.optimizers.Optimizer,
    keras.optimizers.schedules.LearningRateSchedule,
    keras.initializers.Initializer,
    keras.regularizers.Regularizer,
    keras.constraints.Constraint,
    keras.dtype_policies.DTypePolicy,
    keras.random.SeedGenerator,
)
"""Objects of Keras that people set attributes on; the rest is how Keras works inside."""


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
        self._classes: set[type] = set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Follow what is read in here."""
        for root in self._roots:
            self._reach.root(root)
        listener = Listener(self._reach, is_frozen=self.is_frozen)
        with listener:
            yield
        if listener.failed is not None:
            raise listener.failed
        self._keep_keras(listener)

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

    def _keep_keras(self, listener: Listener) -> None:
        """Watch what Keras' functions read from their objects, as it is after the step."""
        for of, names in listener.keras.values():
            held = vars(of)
            if not isinstance(of, _KINDS):
                continue
            known = _OF_A_VARIABLE if isinstance(of, keras.Variable) else names - _BOOKKEEPING
            own = {name for kind in type(of).__mro__ if is_programs(kind) for name in vars(kind)}
            fields = Fields(of, held)
            read = [name for name in known | {"call"} if name in held or name in own | {"call"}]
            self._watches.append(fields)
            self._watches.extend(_inside(fields.add(read)))
            self._watch_class(type(of), names)

    def _watch_class(self, kind: type, names: set[str]) -> None:
        """Watch the methods of a layer's class, which Keras calls, and what else was read there."""
        for one in kind.__mro__:
            if one not in self._classes and one.__module__ != "builtins":
                self._classes.add(one)
                fields = Fields(one, vars(one))
                self._watches.append(fields)
                read = names | _CALLED if is_programs(one) else _CALLED
                self._watches.extend(_inside(fields.add(read & vars(one).keys())))


_CALLED = {"call", "__call__", "build", "update_step", "update_state", "result", "compute_loss"}


def _inside(values: Iterable[Any]) -> Iterator[Any]:
    """Watch containers and arrays on Keras' objects, at any depth."""
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            yield Array(value)
        elif isinstance(value, list | dict | set):
            items = Items(value)
            yield items
            waiting.extend(items.values())
        elif isinstance(value, tuple):
            waiting.extend(value)
