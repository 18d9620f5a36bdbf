"""Lift a Keras model to pure steps.

In: a compiled Keras model and what is asked of it.  Out: step(state, batch) -> (result, state).
The step is Keras' own `train_step`, `test_step` or `predict_step`, which users override.
"""

from __future__ import annotations

import inspect
from typing import Any

import jax

from manyhands.engine.batch import Arrays
from manyhands.engine.jax_inside import is_eager
from manyhands.engine.keras_inside.state import variables_of
from manyhands.engine.keras_inside.variables import set_value, value_of
from manyhands.engine.program import State, Step
from manyhands.engine.roles import STATE_PARTS, Role
from manyhands.engine.step_scope import StepScope
from manyhands.engine.traced_step import as_value
from manyhands.errors import StepError, explain


def lift(model: Any, role: Role) -> Step:
    """Give the model's step for this role as a pure function."""

    def train(state: State, batch: Arrays):
        if takes_only_data(model, "train"):
            return _stateful(model, "train", state, batch)
        return _tidy(*model.train_step(state, batch))

    def test(state: State, batch: Arrays):
        if takes_only_data(model, "test"):
            return _stateful(model, "test", state, batch)
        return _tidy(*model.test_step(state, batch))

    def predict(state: State, batch: Arrays):
        if takes_only_data(model, "predict"):
            return _stateful(model, "predict", state, batch)
        outputs, non_trainable = model.predict_step(state, batch)
        return _tidy(outputs, (state[0], non_trainable))

    return {"train": train, "test": test, "predict": predict}[role]


def takes_only_data(model: Any, role: Role) -> bool:
    """Whether a model's own step is written for TensorFlow: `train_step(self, data)`."""
    try:
        parameters = inspect.signature(getattr(model, f"{role}_step")).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is p.empty]
    return len(needed) == 1 and not any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _stateful(model: Any, role: Role, state: State, batch: Arrays) -> tuple[Any, State]:
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


def _tidy(result: Any, state: Any) -> tuple[Any, State]:
    """Bring the state back to a tuple of lists: a user's own step may return others."""
    return result, tuple(list(part) for part in state)
