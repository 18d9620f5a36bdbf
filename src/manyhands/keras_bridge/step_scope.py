"""The state that a step touches, found while the step runs.

In: the live variables and their values in this trace.  Out: which of them the step read or wrote,
and their new values.  A variable that nobody knew of is noted; the step is then traced again.
"""

from __future__ import annotations

from typing import Any

import keras

from manyhands.engine.tape import note_read, settled
from manyhands.keras_bridge.variables import get_stateless_scope, value_of


def current_step() -> StepScope | None:
    """Return the step that is being traced, None while nothing is."""
    scope = get_stateless_scope()
    while scope is not None and not isinstance(scope, StepScope):
        scope = getattr(scope, "original_scope", None)
    return scope


def innermost_scope() -> StepScope | InnerScope | None:
    """Return the part of a step that is being traced: the step itself, or a branch of it."""
    scope = get_stateless_scope()
    while scope is not None and not is_step(scope):
        scope = getattr(scope, "original_scope", None)
    return scope


def is_step(scope: object) -> bool:
    """Whether a scope is a step's, or a part of one."""
    return isinstance(scope, StepScope | InnerScope)


class StepScope(keras.StatelessScope):
    """Keras' variables in here have the values of one trace, and keep theirs outside."""

    def __init__(self, values: dict[int, Any]) -> None:
        super().__init__(collect_losses=True, initialize_variables=False)
        self.state_mapping.update(values)
        self.touched: dict[int, Any] = {}
        self.written: dict[int, Any] = {}
        self.strangers: dict[int, Any] = {}
        self.shows_values = False
        """Whether printing must show values, as in a step that nobody asked to compile."""
        self.engine: Any = None
        """What a strategy's `run` inside this step wants it to run on."""

    def saved(self) -> Any:
        """Give what `restore` goes back to."""
        return dict(self.state_mapping), dict(self.touched), dict(self.written), list(self.losses)

    def restore(self, saved: Any) -> None:
        """Undo what was written since `saved`; what was read stays known."""
        mapping, _, written, losses = saved
        self.state_mapping, self.written, self.losses = mapping, written, losses

    def get_current_value(self, variable: Any) -> Any:
        """Give the value of a variable in this trace."""
        key = id(variable)
        value = self.state_mapping.get(key)
        if value is None:
            value = value_of(variable)
            if value is None:
                return None
            self.strangers[key] = variable
        self.touched[key] = variable
        note_read(variable, value)
        return value

    def add_update(self, update: Any) -> None:
        """Take a variable's new value."""
        variable, value = update
        key = id(variable)
        if key not in self.state_mapping:
            self.strangers[key] = variable
        self.touched[key] = self.written[key] = variable
        self.state_mapping[key] = settled(value)


class InnerScope(keras.StatelessScope):
    """Variables inside a part of a step: read as the step has them, written apart."""

    def __init__(self, around: Any) -> None:
        super().__init__(collect_losses=True, initialize_variables=False)
        self._around = around
        self.written: dict[int, Any] = {}

    def get_current_value(self, variable: Any) -> Any:
        """Give what was written in here, or what the step has."""
        value = self.state_mapping.get(id(variable))
        return self._around.get_current_value(variable) if value is None else value

    def add_update(self, update: Any) -> None:
        """Take a new value."""
        variable, value = update
        self.written[id(variable)] = variable
        self.state_mapping[id(variable)] = settled(value)
