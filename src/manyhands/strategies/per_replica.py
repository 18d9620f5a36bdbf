"""Values of several replicas: what a step that runs once for each gives, and what it writes.

In: one value a replica.  Out: a PerReplicaValue that leaves a trace; one value for a variable.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


class PerReplicaValue:
    """What each replica's step gave, led by the replicas; a pytree, so that it leaves a trace."""

    def __init__(self, stacked: Any) -> None:
        self.stacked = stacked

    @property
    def values(self) -> tuple[Any, ...]:
        """One value a replica."""
        return tuple(self.stacked[i] for i in range(self.stacked.shape[0]))

    def __repr__(self) -> str:
        return f"PerReplica({list(self.values)})"


jax.tree_util.register_pytree_node(
    PerReplicaValue,
    lambda value: ((value.stacked,), None),
    lambda _, parts: PerReplicaValue(*parts),
)


class PerReplicaRows:
    """What each replica's step gave, where they have different numbers of rows; a pytree too."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"PerReplica({list(self.values)})"


jax.tree_util.register_pytree_node(
    PerReplicaRows, lambda rows: (rows.values, None), lambda _, parts: PerReplicaRows(*parts)
)


def gathered(values: list[Any]) -> Any:
    """Put the replicas' results side by side."""
    if len({jnp.shape(value) for value in values}) == 1:
        return PerReplicaValue(jnp.stack([jnp.asarray(value) for value in values]))
    return PerReplicaRows(*values)


def together(variable: Any, values: Any, around: Any) -> Any:
    """Bring one variable's values of all replicas together, as its aggregation says."""
    if variable.aggregation == "sum":
        before = around.get_current_value(variable)
        return before + jnp.sum(values - before, axis=0)
    if variable.aggregation == "only_first_replica" or not jnp.issubdtype(
        values.dtype, jnp.floating
    ):
        return values[0]
    same = jnp.all(values == values[:1])
    return jnp.where(same, values[0], jnp.mean(values, axis=0))
