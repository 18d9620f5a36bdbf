"""Teach Keras what custom loops need: tapes that see variables, gradients summed over replicas.

In: nothing.  Out: Keras' variables and optimizers, taught once a process.
"""

from __future__ import annotations

from typing import Any

import jax

from manyhands.engine.branches import branch
from manyhands.engine.function import refuse_to_print
from manyhands.engine.jax_inside import install_fresh_arrays, install_printing, is_eager
from manyhands.engine.keras_inside.conditions import install_conditions
from manyhands.engine.keras_inside.datasets import install_datasets
from manyhands.engine.keras_inside.optimizers import install_optimizers
from manyhands.engine.keras_inside.seeds import install_seeds
from manyhands.engine.recorded_variables import record_variables
from manyhands.engine.step_scope import current_step
from manyhands.strategies.context import replica_of_step
from manyhands.strategies.reduce_op import ReduceOp


def install() -> None:
    """Do it; a second time does nothing."""
    record_variables()
    install_optimizers(before_apply=_summed_over_replicas)
    install_datasets()
    install_fresh_arrays()
    install_printing(before=refuse_to_print)
    install_seeds(in_step=lambda: current_step() is not None)
    install_conditions(branch=branch, applies=_branches_our_way)


def _branches_our_way(condition: Any) -> bool:
    """In a step, and where the condition is known: then a branch may write variables."""
    return current_step() is not None or (is_eager() and isinstance(condition, jax.Array))


def _summed_over_replicas(gradients: list[Any]) -> list[Any]:
    """Sum gradients where a step runs once for each replica; they are the whole batch's else."""
    replica = replica_of_step()
    if replica is None:
        return gradients
    return replica.all_reduce(ReduceOp.SUM, gradients)
