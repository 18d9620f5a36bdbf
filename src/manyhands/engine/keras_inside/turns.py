"""Threads that use one model take turns.

In: a model, and the calls that threads make on it.  Out: one call at a time, in the order in which
they came.  A thread may call again inside its own call.
`fit` gives turns between two launches, and every call does while a callback of the program runs:
then another thread may predict or evaluate, and finds the state that the last launch left, whole.
It is a guest: what it does leaves no trace in the call that it came into, and it gives no turns
itself.  Training while another thread's `fit` runs is refused: the two would overwrite each other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from manyhands.engine.keras_inside.binding import driver_of
from manyhands.engine.keras_inside.state import release_state
from manyhands.engine.roles import Role
from manyhands.errors import ScopeError, explain

_TURNS = "_manyhands_turns"
_making = threading.Lock()


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


def turns_of(model: Any) -> Turns:
    """Give the turns of a model."""
    found = model.__dict__.get(_TURNS)
    if found is None:
        with _making:
            found = model.__dict__.setdefault(_TURNS, Turns())
    return found


def list_model(model: Any) -> None:
    """Count a model among those that threads may share."""
    _models.add(model)


_models: WeakSet[Any] = WeakSet()


class Touched:
    """The models that a step touches, found by its variables; all there are, before it is known."""

    def __init__(self) -> None:
        self._known = False
        self._models: WeakSet[Any] = WeakSet()
        self._trained: WeakSet[Any] = WeakSet()

    def add(self, written: Iterable[Any], read: Iterable[Any]) -> None:
        """Note what a step writes and reads."""
        self._known = True
        trained = {id(variable) for variable in written if variable.trainable}
        touched = {id(variable) for variable in (*written, *read)}
        for model in list(_models):
            if any(id(variable) in touched for variable in _variables_of(model)):
                self._models.add(model)
            if any(id(variable) in trained for variable in model.trainable_variables):
                self._trained.add(model)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turns of all of them, in one order for all threads."""
        models = sorted(self._models if self._known else _models, key=id)
        with ExitStack() as stack:
            for model in models:
                turns = turns_of(model)
                if turns.is_in_fit and model in self._trained:
                    _refuse_training_twice(turns, model, "strategy.run", "train")
                stack.enter_context(turns.taken())
            yield


@contextmanager
def turns_of_all(things: Iterable[Any]) -> Iterator[None]:
    """Have the turns of those things that are models, in one order for all threads."""
    known = {id(model) for model in list(_models)}
    models = {id(thing): thing for thing in things if id(thing) in known}
    with ExitStack() as stack:
        for key in sorted(models):
            driver = driver_of(models[key])
            if driver is None or not driver.spans_processes:  # whose threads take no turns
                stack.enter_context(turns_of(models[key]).taken())
        yield


def _variables_of(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    return [*model.variables, *(optimizer.variables if optimizer is not None else [])]


@contextmanager
def taking_turns(model: Any, name: str, role: Role) -> Iterator[None]:
    """Run one call of Keras' methods on a model, when it is this thread's turn."""
    turns = turns_of(model)
    _refuse_training_twice(turns, model, name, role)
    with turns.taken(alone=role == "train"):
        _refuse_training_twice(turns, model, name, role)
        if turns.is_guest:
            with _metrics_kept(model):
                yield
        else:
            with turns.hosting(is_fit=name == "fit"):
                yield


def _refuse_training_twice(turns: Turns, model: Any, name: str, role: Role) -> None:
    if role == "train" and turns.is_in_fit:
        raise ScopeError(
            explain(
                "Another thread is training this model.",
                got=f"{name} of model {model.name!r} while its fit runs in another thread",
                fix="wait until that fit has ended, or train a copy: "
                "keras.models.clone_model(model). predict and evaluate may be called meanwhile.",
            )
        )


def give_turns(model: Any) -> bool:
    """Let those who wait have their turns now, with the latest state; whether there were any."""
    turns = turns_of(model)
    if not turns.is_wanted:
        return False
    release_state(model)
    with turns.given():
        pass
    return True


@contextmanager
def turns_given(model: Any, *, between_steps: bool) -> Iterator[None]:
    """Let others have turns while a callback runs.

    Between steps nothing is written back for it alone: callbacks that do not look at the model
    are called while the devices go on.
    """
    turns = model.__dict__.get(_TURNS)
    if (
        turns is None
        or turns.is_guest
        or (between_steps and not model._jax_state_synced and not turns.is_wanted)
    ):
        yield
        return
    release_state(model)
    with turns.given():
        yield
    model._jax_state_synced = True  # so that Keras reads the variables again


@contextmanager
def _metrics_kept(model: Any) -> Iterator[None]:
    """Leave the metrics, which a `fit` of another thread is summing up, as they were."""
    before = [(variable, variable.value) for variable in model.metrics_variables]
    try:
        yield
    finally:
        for variable, value in before:
            variable._value = value
