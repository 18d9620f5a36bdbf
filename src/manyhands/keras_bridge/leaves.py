"""Keras' variables as leaves of a step's state.

In: variables.  Out: a Leaf for each: what it is, and for an optimizer's slot, of which weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from manyhands.engine.leaf import Leaf, LeafRole
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.state import variables_of

_SEED = "seed_generator_state"
_ROLES = {
    "trainable_variables": LeafRole.WEIGHT,
    "non_trainable_variables": LeafRole.WEIGHT,
    "metrics_variables": LeafRole.METRIC,
}


def leaves_of_model(model: Any, role: Role) -> tuple[Leaf, ...]:
    """Describe the state of one of a model's steps."""
    found: list[Leaf] = []
    weights = _by_slot_name(model.trainable_variables)
    for part in STATE_PARTS[role]:
        is_written = role != "predict" or part != "trainable_variables"
        for variable in variables_of(model, part, role):
            kind = _ROLES.get(part)
            found.append(_leaf(variable, kind, weights, is_written=is_written))
    return tuple(found)


def leaves_of(written: Sequence[Any], read: Sequence[Any]) -> tuple[Leaf, ...]:
    """Describe variables that a step writes, and those that it only reads."""
    weights = _by_slot_name(v for v in (*written, *read) if v.trainable)
    return tuple(
        _leaf(variable, None, weights, is_written=is_written)
        for variables, is_written in ((written, True), (read, False))
        for variable in variables
    )


def _leaf(variable: Any, kind: LeafRole | None, weights: dict[str, Any], **more: Any) -> Leaf:
    weight = None if kind is not None else _weight_of(variable, weights)
    if variable.name == _SEED:
        kind = LeafRole.SEED
    elif weight is not None:
        kind = LeafRole.SLOT
    elif kind is None:
        kind = LeafRole.WEIGHT if variable.path in weights.values() else LeafRole.OTHER
    shape = tuple(variable.shape)
    return Leaf(variable.path, shape, str(variable.dtype), kind, weight, **more)


def _by_slot_name(variables: Iterable[Any]) -> dict[str, str]:
    """Key the paths of weights by what the names of their optimizers' slots begin with."""
    return {variable.path.replace("/", "_"): variable.path for variable in variables}


def _weight_of(variable: Any, weights: dict[str, str]) -> str | None:
    """Find the weight that an optimizer's slot is for: Keras names it after it."""
    begin = variable.name
    while "_" in begin:
        begin = begin.rpartition("_")[0]
        if begin in weights:
            return weights[begin]
    return None
