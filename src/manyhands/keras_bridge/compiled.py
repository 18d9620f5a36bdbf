"""`compiled_loss` and `compiled_metrics`: what older TensorFlow programs call in their own steps.

In: targets and predictions.  Out: the loss and metrics that the model was compiled with.
"""

from __future__ import annotations

from typing import Any

import keras
from keras.src.trainers.trainer import Trainer

from manyhands.keras_bridge.patching import Patch


class CompiledMetrics:
    """The metrics that a model was compiled with."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def metrics(self) -> list[Any]:
        """List them."""
        compiled = self._model._compile_metrics
        return [] if compiled is None else compiled.metrics

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count a batch."""
        compiled = self._model._compile_metrics
        if compiled is not None:
            compiled.update_state(y_true, y_pred, sample_weight)


def _compiled_loss(
    self: Any,
    y_true: Any,
    y_pred: Any,
    sample_weight: Any = None,
    regularization_losses: Any = None,
) -> Any:
    """Give the loss that the model was compiled with, and count it in the metric of that name."""
    del regularization_losses  # they are the model's own, which compute_loss adds
    loss = self.compute_loss(y=y_true, y_pred=y_pred, sample_weight=sample_weight)
    first = keras.tree.flatten(y_pred)[0]
    self._loss_tracker.update_state(loss, sample_weight=first.shape[0])
    return loss


PATCHES = [
    Patch(Trainer, "compiled_loss", lambda _: _compiled_loss, "older TensorFlow programs call it"),
    Patch(
        Trainer,
        "compiled_metrics",
        lambda _: property(CompiledMetrics),
        "older TensorFlow programs call it",
    ),
]
