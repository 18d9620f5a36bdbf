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
    if role == "train":
        return lambda state, batch: model.train_step(state, batch)
    if role == "test":
        return lambda state, batch: model.test_step(state, batch)

    def predict(state: State, batch: Arrays):
        outputs, non_trainable = model.predict_step(state, batch)
        return outputs, (state[0], non_trainable)

    return predict
