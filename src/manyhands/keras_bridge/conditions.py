"""Keras' `ops.cond` inside a step: branches that write variables are heard.

In: Keras' function.  Out: ours in a step, and where the condition is known; Keras' own elsewhere.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
from keras.src.backend.jax import core

from manyhands.engine.jax_inside import is_eager
from manyhands.keras_bridge.branches import branch
from manyhands.keras_bridge.patching import Patch
from manyhands.keras_bridge.step_scope import current_step


def _cond(original: Any) -> Any:
    @functools.wraps(original)
    def cond(pred: Any, true_fn: Any, false_fn: Any) -> Any:
        return (branch if _branches_our_way(pred) else original)(pred, true_fn, false_fn)

    return cond


def _branches_our_way(condition: Any) -> bool:
    """In a step, and where the condition is known: then a branch may write variables."""
    return current_step() is not None or (is_eager() and isinstance(condition, jax.Array))


PATCHES = [Patch(core, "cond", _cond, "branches of a step may write variables")]
