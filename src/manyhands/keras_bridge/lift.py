"""Lift a Keras model to pure steps.

In: a compiled Keras model and what is asked of it.  Out: a Step.
The step is Keras' own `train_step`, `test_step` or `predict_step`, which users override.
"""

from __future__ import annotations

import inspect
from typing import Any

import jax

from manyhands.engine.batch import Arrays
from manyhands.engine.jax_inside import is_eager
from manyhands.engine.leaf import Leaf
from manyhands.engine.step import State
from manyhands.errors import StepError, explain
from manyhands.keras_bridge.leaves import leaves_of_model
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.state import Parts, nested, variables_of
from manyhands.keras_bridge.step_scope import StepScope
from manyhands.keras_bridge.traced_step import as_value
from manyhands.keras_bridge.variables import set_value, value_of


class KerasStep:
    """One of a model's own steps, as a pure function."""

    def __init__(self, model: Any, role: Role) -> None:
        self.name = f"{role} step"
        self._model = model
        self._role: Role = role
        self._traced = jax.jit(self._run)  # once, whether steps run singly or many at a time

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The model's variables, in Keras' order."""
        return leaves_of_model(self._model, self._role)

    def __call__(self, state: State, rows: Arrays) -> tuple[Any, State]:
        """Run the step; what is not compiled runs as it is written."""
        return self._run(state, rows) if is_eager() else self._traced(state, rows)

    def _run(self, state: State, rows: Arrays) -> tuple[Any, State]:
        model, role = self._model, self._role
        parts = nested(model, role, state)
        if takes_only_data(model, role):
            given, after = _stateful(model, role, parts, rows)
        elif role == "predict":
            given, untrained = model.predict_step(parts, rows)
            after = (parts[0], untrained)
        else:
            given, after = getattr(model, f"{role}_step")(parts, rows)
        return given, [array for part in after for array in part]


def lift(model: Any, role: Role) -> KerasStep:
    """Give the model's step for this role as a pure function."""
    return KerasStep(model, role)


def takes_only_data(model: Any, role: Role) -> bool:
    """Whether a model's own step is written for TensorFlow: `train_step(self, data)`."""
    try:
        parameters = inspect.signature(getattr(model, f"{role}_step")).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is p.empty]
    return len(needed) == 1 and not any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _stateful(model: Any, role: Role, state: Parts, batch: Arrays) -> tuple[Any, Parts]:
    """Run a step that changes the model's variables, as a function of their values."""
    before = _parts(model, role)
    scope = StepScope(
        {
            id(variable): value
            for variables, values in zip(before, state, strict=True)
            for variable, value in zip(variables, values, strict=True)
        }
    )
    with scope:
        result = jax.tree.map(as_value, getattr(model, f"{role}_step")(batch))
    parts = _parts(model, role) if is_eager() else before  # an eager step may have made some
    known = {id(variable) for variables in parts for variable in variables}
    _keep(role, [(v, scope.state_mapping[k]) for k, v in scope.written.items() if k not in known])
    new = ([_value(variable, scope) for variable in variables] for variables in parts)
    return result, tuple(new)


def _parts(model: Any, role: Role) -> list[list[Any]]:
    return [variables_of(model, part, role) for part in STATE_PARTS[role]]


def _value(variable: Any, scope: StepScope) -> Any:
    found = scope.state_mapping.get(id(variable))
    return value_of(variable) if found is None else found


def _keep(role: Role, written: list[tuple[Any, Any]]) -> None:
    """Give variables that are no part of the state their values, where these are known."""
    if written and not is_eager():
        raise StepError(
            explain(
                f"{role}_step writes variables that it did not write for the first batch.",
                got=", ".join(variable.path for variable, _ in written),
                fix="write them in every step, or compile with run_eagerly=True.",
            )
        )
    for variable, value in written:
        set_value(variable, value)
