"""Bring the values of several replicas together, outside of a step.

In: what `run` returned, or rows that are split over the devices.  Out: one value.
A value that a step computed from the whole batch is already the value of all replicas.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from manyhands.engine.dict_order import map_in_order
from manyhands.engine.split_rows import SplitRows
from manyhands.strategies.per_replica import PerReplicaRows, PerReplicaValue
from manyhands.strategies.reduce_op import ReduceOp


def reduce(op: ReduceOp, value: Any, axis: int | None) -> Any:
    """Sum or average over replicas, and along `axis` if one is given."""
    return map_in_order(lambda part: _reduced(op, part, axis), value, is_leaf=_is_split)


def gather(value: Any, axis: int) -> Any:
    """Lay the replicas' values end to end."""
    return map_in_order(lambda part: _gathered(part, axis), value, is_leaf=_is_split)


def local_results(value: Any, own: range) -> tuple[Any, ...]:
    """List the values of this process' replicas; a value that is everybody's stands for itself."""
    if _is_split(value):
        return value.values if isinstance(value, SplitRows) else value.values[own.start : own.stop]
    parts = jax.tree.leaves(value, is_leaf=_is_split)
    split = [part for part in parts if _is_split(part)]
    if not split:
        return (value,)
    return tuple(
        map_in_order(
            lambda part, i=i: local_results(part, own)[i] if _is_split(part) else part,
            value,
            is_leaf=_is_split,
        )
        for i in range(len(own))
    )


def _is_split(value: Any) -> bool:
    return isinstance(value, SplitRows | PerReplicaValue | PerReplicaRows)


def _gathered(part: Any, axis: int) -> Any:
    if isinstance(part, SplitRows):
        return part.whole if axis == 0 else jnp.concatenate(part.values_everywhere, axis)
    if isinstance(part, PerReplicaValue | PerReplicaRows):
        return jnp.concatenate(part.values, axis)
    return part


def _reduced(op: ReduceOp, part: Any, axis: int | None) -> Any:
    combined = jnp.sum if op is ReduceOp.SUM else jnp.mean
    if axis is not None:
        return combined(jnp.asarray(_gathered(part, axis)), axis=axis)
    if isinstance(part, PerReplicaValue):
        return combined(part.stacked, axis=0)
    if isinstance(part, SplitRows):
        return combined(
            jnp.stack([jnp.asarray(jax.device_get(v)) for v in part.values_everywhere]), axis=0
        )
    return part
