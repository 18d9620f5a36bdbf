"""Keras' optimizers: what happens to gradients before they are applied.

In: a function over gradients.  Out: every optimizer's `apply`, through it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from keras.src.optimizers.base_optimizer import BaseOptimizer


def install_optimizers(*, before_apply: Callable[[list[Any]], list[Any]]) -> None:
    """Teach Keras' optimizers, once a process."""
    if getattr(BaseOptimizer, "_manyhands_installed", False):
        return
    setattr(BaseOptimizer, "_manyhands_installed", True)  # noqa: B010
    original = BaseOptimizer.apply

    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        return original(self, before_apply(list(grads)), trainable_variables)

    BaseOptimizer.apply = apply
