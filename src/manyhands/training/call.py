"""One call of fit, evaluate or predict: what was asked, and who watches.

In: the arguments Keras got.  Out: a Call, found by whoever works inside it through `current()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from manyhands import keras_bridge
from manyhands.keras_bridge import Role


@dataclass
class Call:
    """What is going on in one call of Keras' methods."""

    model: Any
    role: Role
    name: str
    watched: bool
    """Somebody looks between single batches: one launch each, and the weights are up to date."""
    undisturbed: bool
    """Nobody else's code runs between two epochs, to change the data or draw random numbers."""
    callbacks: tuple[Any, ...] = ()
    """Those that were passed, without Keras' own."""
    datasets: tuple[Any, ...] = ()
    """Those that may change themselves between epochs."""
    num_epochs: int = 0
    """Passes that training will make over its data, as far as one can tell; 0 for the rest."""
    within: Call | None = None
    feeders: list[Any] = field(default_factory=list)
    endings: list[Callable[[], None]] = field(default_factory=list)
    """What is to be done when the call ends, however it ends."""

    @classmethod
    def of(cls, model: Any, role: Role, arguments: dict[str, Any]) -> Call:
        """Look at the arguments that Keras got."""
        callbacks = arguments.get("callbacks")
        return cls(
            model=model,
            role=role,
            name=arguments["called"],
            watched=keras_bridge.watches_batches(callbacks, role),
            undisturbed=keras_bridge.runs_only_known_code(
                model, callbacks, arguments.get("validation_data")
            ),
            callbacks=tuple(keras_bridge.user_callbacks(callbacks)),
            datasets=tuple(keras_bridge.changing_datasets(arguments)),
            num_epochs=(
                arguments.get("epochs", 1) - arguments.get("initial_epoch", 0)
                if arguments["called"] == "fit"
                else 0
            ),
        )

    @property
    def keeps_place(self) -> bool:
        """Whether somebody keeps the place in the data, so that nothing is drawn ahead of it."""
        return any(getattr(callback, "keeps_place", False) for callback in self.callbacks)

    @property
    def looks_every(self) -> int | None:
        """After so many steps somebody wants to look, which may be the end of a launch."""
        steps = [getattr(callback, "looks_every", None) for callback in self.callbacks]
        return min((count for count in steps if count), default=None)

    @property
    def repeats_data(self) -> bool:
        """Whether the data is likely read more than once: training, or validation inside it."""
        return self.name == "fit" or (self.within is not None and self.within.name == "fit")


_current: ContextVar[Call | None] = ContextVar("manyhands_call", default=None)


def current(model: Any) -> Call | None:
    """Return the call that this model is in, if any."""
    call = _current.get()
    return call if call is not None and call.model is model else None


@contextmanager
def entered(call: Call) -> Iterator[Call]:
    """Make this the current call; what it opened is closed when it ends."""
    outer = _current.get()
    call.within = outer if outer is not None and outer.model is call.model else None
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)
        for end in (*call.endings, *(feeder.close for feeder in call.feeders)):
            end()
