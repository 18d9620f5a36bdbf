"""What we know of a model: one Session each, kept on the model and gone with it.

In: a model.  Out: its Session: who runs it, what its steps touch besides what Keras lists, what its
last call fed, whose turn it is.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from manyhands.keras_bridge.roles import Role
from manyhands.keras_bridge.turns import Turns

_NAME = "_manyhands"
_making = threading.Lock()


@dataclass(eq=False)
class Session:
    """What we know of one model."""

    driver: Any = None
    """Who runs its steps; None for Keras itself."""
    others: dict[Role, list[Any]] = field(default_factory=dict)
    """Variables that its own steps touch, besides those that Keras lists."""
    counts: Any = None
    """What its last call fed."""
    begun_later: bool = False
    """Whether its `fit` was told to begin at a later epoch."""
    cleared_metrics: Any = None
    """The metrics' variables, and their values when reset."""
    turns: Turns = field(default_factory=Turns)

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        """Give a copy of a model a session of its own."""
        return Session, ()

    def __deepcopy__(self, memo: Any) -> Session:
        del memo
        return Session(driver=self.driver)


def session_of(model: Any) -> Session:
    """Give the session of a model."""
    found = model.__dict__.get(_NAME)
    if found is None:
        with _making:
            found = model.__dict__.setdefault(_NAME, Session())
    return found
