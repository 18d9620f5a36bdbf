"""Find what a model's own step touches, by tracing it once.

In: a model whose `train_step(self, data)` is written for TensorFlow, and its first batch.
Out: the model with every variable made that the step makes, and its state known: besides Keras'
lists also other optimizers, generators, and whatever else the step reads or writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from manyhands.errors import StepError, explain
from manyhands.keras_bridge.binding import compiles, function_of
from manyhands.keras_bridge.lift import takes_only_data
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.state import set_other_variables, variables_of
from manyhands.keras_bridge.traced_step import trace_step


def find_state(model: Any, role: Role, first_batch: Callable[[], Any]) -> bool:
    """Build a model by its own step; False for one that Keras builds."""
    if not takes_only_data(model, role):
        return False
    if function_of(model, role) is not None or not compiles(model):
        return True  # it is known, or shows as the step runs
    leaves, structure = jax.tree.flatten(first_batch())
    step = getattr(model, f"{role}_step")

    def call(arrays: list[Any]) -> Any:
        return step(jax.tree.unflatten(structure, arrays))

    set_other_variables(model, role, [])
    traced = trace_step(call, [_spec(leaf) for leaf in leaves])
    if traced is None:
        raise StepError(
            explain(
                f"{role}_step makes new variables each time it is run.",
                got=f"model {model.name!r}",
                fix="make layers, optimizers and metrics once: in __init__, compile or build.",
            )
        )
    known = {id(v) for part in STATE_PARTS[role] for v in variables_of(model, part, role)}
    touched = [*traced.written, *traced.read]
    set_other_variables(model, role, [v for v in touched if id(v) not in known])
    return True


def _spec(leaf: Any) -> Any:
    array = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))
