"""Keras' optimizers: what happens to gradients before they are applied, and the learning rate."""

from __future__ import annotations

import functools
from typing import Any

from keras import Variable
from keras.src.optimizers.base_optimizer import BaseOptimizer

from manyhands.keras_bridge.hooks import hooks
from manyhands.keras_bridge.patching import Patch


def _apply(original: Any) -> Any:
    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        return original(self, hooks.before_apply(list(grads)), trainable_variables)

    return apply


PATCHES = [Patch(BaseOptimizer, "apply", _apply, "gradients of replicas are summed")]


def learning_rate(model: Any) -> float | None:
    """Read the learning rate that callbacks may set; None where a schedule decides."""
    rate = _rate_of(model)
    return None if rate is None else float(rate.value)


def set_learning_rate(model: Any, value: float | None) -> None:
    """Set it, as callbacks do."""
    rate = _rate_of(model)
    if rate is not None and value is not None:
        rate.assign(value)


def _rate_of(model: Any) -> Any:
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    rate = getattr(optimizer, "_learning_rate", None)
    return rate if isinstance(rate, Variable) else None
