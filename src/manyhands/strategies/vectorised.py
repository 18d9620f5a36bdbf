"""A step that asks which replica it is: it runs once for each, on that replica's rows.

In: a step and its arguments, while the step is being traced.  Out: its results, one a replica, and
the variables it wrote, brought together.
All replicas are one vectorised program (`jax.vmap` with a named axis), so sums over them are sums
over that axis.  Rows that do not divide go `one_by_one`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from manyhands.engine.dict_order import in_order, map_in_order, order_of
from manyhands.keras_bridge.step_scope import InnerScope, innermost_scope
from manyhands.strategies.context import in_step
from manyhands.strategies.one_by_one import run_one_by_one
from manyhands.strategies.per_replica import PerReplicaValue, together
from manyhands.strategies.reduce_op import ReduceOp
from manyhands.strategies.replica_context import ReplicaContext

if TYPE_CHECKING:
    from manyhands.strategies.strategy import Strategy

AXIS = "manyhands_replicas"


class VectorisedReplica(ReplicaContext):
    """One of replicas that are an axis of one program."""

    def _reduced(self, op: ReduceOp, value: Any) -> Any:
        reduced = jax.lax.psum if op is ReduceOp.SUM else jax.lax.pmean
        return map_in_order(lambda part: reduced(jnp.asarray(part), AXIS), value)

    def _gathered(self, value: Any, axis: int) -> Any:
        return map_in_order(
            lambda part: jax.lax.all_gather(jnp.asarray(part), AXIS, axis=axis, tiled=True), value
        )


def run_per_replica(
    strategy: Strategy, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a step once for each replica; every result is led by the replicas."""
    around = innermost_scope()
    assert around is not None, "a step that asks for its replica is traced"
    order = order_of((args, kwargs))
    leaves, structure = jax.tree.flatten(
        (args, kwargs), is_leaf=lambda part: isinstance(part, PerReplicaValue)
    )
    count, rows = strategy.layout.num_replicas, strategy.layout.rows
    if any(_has_rows(leaf) and not rows.divides(leaf.shape[0]) for leaf in leaves):
        return run_one_by_one(strategy, step, leaves, structure, order)
    split = [_split(leaf, count) for leaf in leaves]
    axes = [0 if is_split else None for is_split, _ in split]
    written: list[Any] = []
    orders: list[Any] = []

    def replica(number: Any, *parts: Any) -> Any:
        own_args, own_kwargs = in_order(order, jax.tree.unflatten(structure, parts))
        scope = InnerScope(around)
        with scope, in_step(strategy, VectorisedReplica(strategy, number)):
            result = step(*own_args, **own_kwargs)
        written[:] = scope.written.values()
        orders[:] = [order_of(result)]
        return result, [scope.state_mapping[key] for key in scope.written]

    result, new = jax.vmap(replica, in_axes=(0, *axes), axis_name=AXIS)(
        jnp.arange(count), *(part for _, part in split)
    )
    for variable, values in zip(written, new, strict=True):
        around.add_update((variable, together(variable, values, around)))
    given = (lambda part: part[0]) if count == 1 else PerReplicaValue
    return in_order(orders[0], jax.tree.map(given, result))


def _has_rows(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and leaf.ndim > 0


def _split(leaf: Any, count: int) -> tuple[bool, Any]:
    if isinstance(leaf, PerReplicaValue):
        return True, leaf.stacked
    if not _has_rows(leaf):
        return False, leaf
    return True, leaf.reshape(count, leaf.shape[0] // count, *leaf.shape[1:])
