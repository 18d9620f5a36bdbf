"""What is asked of a model, and which lists of variables each of these touches."""

from __future__ import annotations

from typing import Literal

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
