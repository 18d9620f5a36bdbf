"""Keras' `ops.cond` inside a step: branches that write variables are heard.

In: what to do instead, inside a step.  Out: Keras' own elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from keras.src.backend.jax import core


def install_conditions(*, branch: Callable[..., Any], applies: Callable[[Any], bool]) -> None:
    """Teach Keras, once a process; `applies` says whether to branch our way on a condition."""
    original = core.cond
    if getattr(original, "_manyhands_installed", False):
        return

    @functools.wraps(original)
    def cond(pred: Any, true_fn: Any, false_fn: Any) -> Any:
        return (branch if applies(pred) else original)(pred, true_fn, false_fn)

    setattr(cond, "_manyhands_installed", True)  # noqa: B010
    core.cond = cond
