"""Lift a Keras model to pure steps.

In: a compiled Keras model and what is asked of it.  Out: step(state, batch) -> (result, state).
The step is Keras' own `train_step`, `test_step` or `predict_step`, which users override.
"""

from __future__ import annotations

from typing import Any, Literal

from manyhands.engine.batch import Arrays
from manyhands.engine.program import State, Step

Role = Literal["train", "test", "predict"]

STATE_PARTS: dict[Role, tuple[str, ...]] = {
    "train": (
        "trainable_variables",
        "non_trainable_variables",
        "optimizer_variables",
        "metrics_variables",
    ),
    "test": ("trainable_variables", "non_trainable_variables", "metrics_variables"),
    "predict": ("trainable_variables", "non_trainable_variables"),
}
"""The lists of arrays that make up a step's state, in Keras' order."""


def lift(model: Any, role: Role) -> Step:
    """Give the model's step for this role as a pure function."""

    def train(state: State, batch: Arrays):
        return _tidy(*model.train_step(state, batch))

    def test(state: State, batch: Arrays):
        return _tidy(*model.test_step(state, batch))

    def predict(state: State, batch: Arrays):
        outputs, non_trainable = model.predict_step(state, batch)
        return _tidy(outputs, (state[0], non_trainable))

    return {"train": train, "test": test, "predict": predict}[role]


def _tidy(result: Any, state: Any) -> tuple[Any, State]:
    """Bring the state back to a tuple of lists: a user's own step may return others."""
    return result, tuple(list(part) for part in state)
