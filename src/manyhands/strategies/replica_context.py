"""What a step may know of the replica it runs for.

In: a strategy and a number.  Out: a ReplicaContext; how replicas bring their values together is
up to the way they run: `vectorised`, `one_by_one`, or alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from manyhands.errors import StepError, explain
from manyhands.strategies.context import replica_of_step
from manyhands.strategies.reduce_op import ReduceOp

if TYPE_CHECKING:
    from manyhands.strategies.strategy import Strategy


class ReplicaContext:
    """One replica; as it stands, the only one there is, whose values are everybody's."""

    def __init__(self, strategy: Strategy, replica_id: Any) -> None:
        self.strategy = strategy
        self.replica_id_in_sync_group = replica_id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas run this step together."""
        return self.strategy.layout.num_replicas

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that the replicas run on."""
        return tuple(str(device) for device in self.strategy.devices)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Bring the replicas' values together; each replica gets the result."""
        del options
        return self._reduced(ReduceOp.of(reduce_op), value)

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Lay the replicas' values end to end; each replica gets the result."""
        del options
        return self._gathered(value, axis)

    def merge_call(self, merge_fn: Callable[..., Any], *_: Any, **__: Any) -> Any:
        """Call a function once for all replicas, with what each of them gives."""
        raise StepError(
            explain(
                "merge_call is not supported.",
                got=f"a call of {getattr(merge_fn, '__name__', merge_fn)!r}",
                fix="use all_reduce or all_gather, which every replica calls.",
            )
        )

    def _reduced(self, op: ReduceOp, value: Any) -> Any:
        del op
        return value

    def _gathered(self, value: Any, axis: int) -> Any:
        del axis
        return value

    def __enter__(self) -> ReplicaContext:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was taken that must be given back."""


def summed_over_replicas(gradients: list[Any]) -> list[Any]:
    """Sum gradients where a step runs once for each replica; they are the whole batch's else."""
    replica = replica_of_step()
    return gradients if replica is None else replica.all_reduce(ReduceOp.SUM, gradients)
