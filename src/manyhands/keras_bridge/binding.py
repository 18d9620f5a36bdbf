"""Which driver a model belongs to, and what a driver is to Keras.

In: a model and a Driver.  Out: the driver again, wherever Keras has only the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakSet

from manyhands.keras_bridge.roles import Role
from manyhands.keras_bridge.session import session_of

FUNCTIONS: dict[Role, str] = {
    "train": "train_function",
    "test": "test_function",
    "predict": "predict_function",
}


class Feed(Protocol):
    """Gives rows to a step function; `next` gives a host batch, for building a model."""

    def __iter__(self) -> Feed: ...
    def __next__(self) -> Any: ...
    def begin(self, num_steps: int | None) -> Iterator[int]:
        """Start an epoch; give the number of steps of each launch, in order."""
        ...


class Feeder(Protocol):
    """Opens a Feed for each pass over one data set."""

    def open(self) -> Feed:
        """Start a pass."""
        ...

    def open_early(self, num_steps: int) -> None:
        """Begin the next pass ahead of time, if that changes nothing."""
        ...

    def finish(self) -> None:
        """Note that the pass has ended."""
        ...

    def take_start(self) -> tuple[int, int]:
        """Steps of this epoch, and of this pass, that were done in an earlier program; once."""
        ...


class Driver(Protocol):
    """What runs the models of a strategy."""

    @property
    def spans_processes(self) -> bool:
        """Whether other processes run the same models with this one."""
        ...

    def make_function(self, model: Any, role: Role) -> Callable[..., Any]:
        """Make what Keras calls as `train_function(state, iterator)`."""
        ...

    def make_feeder(self, model: Any, adapter: Any, steps_per_execution: int) -> Feeder:
        """Make what feeds one data set."""
        ...

    def around(self, model: Any, role: Role, arguments: dict[str, Any]) -> AbstractContextManager:
        """Enter before, leave after each call of Keras' methods on a model."""
        ...

    def changes(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments of such a call that are to be others."""
        ...

    def trusts_logs(self, model: Any) -> bool:
        """Whether nobody can have changed the metrics since the last step returned its logs."""
        ...

    def place(self, arrays: list[Any]) -> list[Any]:
        """Put arrays where a model's state lives."""
        ...


def bind(model: Any, driver: Driver | None) -> None:
    """Give a model to a driver; the model forgets the functions it had compiled."""
    session_of(model).driver = driver
    _bound.add(model)
    for function in FUNCTIONS.values():
        object.__setattr__(model, function, None)


def unbind_all() -> None:
    """Give all models back to Keras."""
    for model in list(_bound):
        bind(model, None)
    _bound.clear()


_bound: WeakSet[Any] = WeakSet()


def driver_of(model: Any) -> Driver | None:
    """Return the driver a model was given to, if any."""
    return session_of(model).driver


def function_of(model: Any, role: Role) -> Any:
    """Return the step function a model has for this role, None before it is made."""
    return getattr(model, FUNCTIONS[role], None)


def compiles(model: Any) -> bool:
    """Whether the model's steps may be compiled."""
    return bool(not model.run_eagerly and model.jit_compile)


active: ContextVar[tuple[Any, Driver] | None] = ContextVar("manyhands_active", default=None)
"""The model that Keras is running for a driver, and that driver."""
