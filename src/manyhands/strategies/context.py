"""Where in a program we are: in a strategy's scope, or inside a step that it runs.

In: scopes and runs, as the program enters and leaves them.  Out: `get_strategy` and its relatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manyhands.strategies.replica_context import ReplicaContext
    from manyhands.strategies.strategy import Strategy

_scopes: ContextVar[tuple[Strategy, ...]] = ContextVar("manyhands_scopes", default=())
_runs: ContextVar[tuple[Strategy, ReplicaContext | None] | None] = ContextVar(
    "manyhands_runs", default=None
)


class AsksForReplicaError(Exception):
    """Raised inside a step that asks which replica it is; it then runs once for each replica."""


def get_strategy() -> Strategy | None:
    """Return the strategy whose scope or step we are in, None outside of any."""
    running = _runs.get()
    if running is not None:
        return running[0]
    scopes = _scopes.get()
    return scopes[-1] if scopes else None


def has_strategy() -> bool:
    """Whether we are in a strategy's scope, or in a step that it runs."""
    return get_strategy() is not None


def in_cross_replica_context() -> bool:
    """Whether we are in a strategy's scope, and not inside a step that it runs."""
    return bool(_scopes.get()) and _runs.get() is None


def get_replica_context() -> ReplicaContext | None:
    """Return what a step may know of its replica; None in a scope, outside of a step.

    A step that asks sees only its replica's rows from then on.
    """
    running = _runs.get()
    if running is None:
        return None
    if running[1] is None:
        raise AsksForReplicaError
    return running[1]


def replica_of_step() -> ReplicaContext | None:
    """Return the replica that a step runs for, None where it sees the whole batch."""
    running = _runs.get()
    return None if running is None else running[1]


def running_strategy() -> Strategy | None:
    """Return the strategy whose step we are in."""
    running = _runs.get()
    return None if running is None else running[0]


def sees_everything() -> bool:
    """Whether we are in a step that sees the whole batch, as on one device."""
    running = _runs.get()
    return running is not None and running[1] is None


@contextmanager
def in_scope(strategy: Strategy) -> Iterator[None]:
    """Be in a strategy's scope."""
    token = _scopes.set((*_scopes.get(), strategy))
    try:
        yield
    finally:
        _scopes.reset(token)


@contextmanager
def in_step(strategy: Strategy, replica: ReplicaContext | None) -> Iterator[None]:
    """Be inside a step that a strategy runs."""
    token = _runs.set((strategy, replica))
    try:
        yield
    finally:
        _runs.reset(token)
