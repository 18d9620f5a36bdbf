"""A step that asks which replica it is, on rows that do not divide.

In: a step, its arguments, while it is traced.  Out: its results, one a replica, and the variables
it wrote, brought together.
The replicas' steps have different shapes, so each is traced by itself.  Where one wants a sum over
all of them, it is stopped there, the others are brought to the same place, and all begin again with
the sum known; XLA sees what they share only once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from manyhands.engine.dict_order import in_order, map_in_order
from manyhands.engine.row_split import RowSplit
from manyhands.errors import StepError, explain
from manyhands.keras_bridge.step_scope import InnerScope, innermost_scope
from manyhands.strategies.context import in_step
from manyhands.strategies.per_replica import gathered, together
from manyhands.strategies.reduce_op import ReduceOp
from manyhands.strategies.replica_context import ReplicaContext

if TYPE_CHECKING:
    from manyhands.strategies.strategy import Strategy

Combine = Callable[[list[Any]], Any]


class _Stop(Exception):  # noqa: N818 - a signal
    """Raised where a replica wants what all of them have."""

    def __init__(self, value: Any, combine: Combine) -> None:
        self.value = value
        self.combine = combine


class OneOfThem(ReplicaContext):
    """One of several; what all of them know together comes from outside."""

    def __init__(self, strategy: Strategy, number: int, known: list[Any]) -> None:
        super().__init__(strategy, number)
        self._known = iter(known)

    def _reduced(self, op: ReduceOp, value: Any) -> Any:
        mean = op is ReduceOp.MEAN
        return self._from_all(value, lambda values: sum(values) / (len(values) if mean else 1))

    def _gathered(self, value: Any, axis: int) -> Any:
        return self._from_all(value, lambda values: jnp.concatenate(values, axis))

    def _from_all(self, value: Any, combine: Combine) -> Any:
        found = next(self._known, None)
        if found is None:
            raise _Stop(value, combine)
        return found


def run_one_by_one(
    strategy: Strategy,
    step: Callable[..., Any],
    leaves: list[Any],
    structure: Any,
    order: Any,
) -> Any:
    """Run a step for each replica, on the rows that are its share."""
    around = innermost_scope()
    assert around is not None, "a step that asks for its replica is traced"
    known: list[Any] = []

    def one(number: int) -> Any:
        own = [_share(leaf, number, strategy.layout.rows) for leaf in leaves]
        args, kwargs = in_order(order, jax.tree.unflatten(structure, own))
        scope, replica = InnerScope(around), OneOfThem(strategy, number, known)
        try:
            with scope, in_step(strategy, replica):
                return step(*args, **kwargs), scope
        except _Stop as stop:
            return stop

    while True:
        runs = [one(number) for number in range(strategy.layout.num_replicas)]
        stops = [run for run in runs if isinstance(run, _Stop)]
        if not stops:
            break
        known.append(_combined(stops, len(runs)))
    for variable in {id(v): v for _, scope in runs for v in scope.written.values()}.values():
        values = jnp.stack([scope.get_current_value(variable) for _, scope in runs])
        around.add_update((variable, together(variable, values, around)))
    return map_in_order(lambda *parts: gathered(list(parts)), *(result for result, _ in runs))


def _combined(stops: list[_Stop], num_replicas: int) -> Any:
    if len(stops) < num_replicas:
        raise StepError(
            explain(
                "The replicas do not agree on when to bring their values together.",
                got=f"{len(stops)} of {num_replicas} call all_reduce or all_gather here",
                fix="call it on every replica, the same number of times.",
            )
        )
    values = [stop.value for stop in stops]
    return map_in_order(lambda *parts: stops[0].combine(list(parts)), *values)


def _share(leaf: Any, number: int, rows: RowSplit) -> Any:
    """Give one replica's rows."""
    if not isinstance(leaf, jax.Array) or leaf.ndim == 0:
        return leaf
    return leaf[rows.parts(leaf.shape[0])[number]]
