"""Keras' seed generators, inside steps that are traced.

In: a generator, or none for the program's own.  Out: keys that differ each time a step runs.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import Any

import jax
from keras.src.layers.layer import Layer
from keras.src.random import seed_generator
from keras.src.utils import jax_utils

from manyhands.keras_bridge.patching import Patch
from manyhands.keras_bridge.step_scope import current_step
from manyhands.keras_bridge.variables import outside_of_steps


def draw_key(generator: Any = None) -> Any:
    """Draw a JAX key: from a SeedGenerator, or from the program's own when there is none."""
    words: Any = seed_generator.draw_seed(generator)
    return jax.random.wrap_key_data(words.astype("uint32"), impl="threefry2x32")


def _global_generator(original: Any) -> Any:
    """Let random functions without a seed be used in steps and in layers.

    Keras forbids them while JAX traces, because they would become constants.  In a step the
    generator's state is part of the step's state, so they do not; in a layer that `fit` traces
    they draw from a generator that the layer gets for it.
    """

    @functools.wraps(original)
    def global_seed_generator() -> Any:
        if current_step() is not None:
            with outside_of_steps():
                return original()
        layer = _layer.get()
        if layer is not None and jax_utils.is_in_jax_tracing_scope():
            return _generator_of(layer)
        return original()

    return global_seed_generator


_layer: ContextVar[Any] = ContextVar("manyhands_layer", default=None)


def _layer_call(original: Any) -> Any:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        token = _layer.set(self)
        try:
            return original(self, *args, **kwargs)
        finally:
            _layer.reset(token)

    return __call__


def _generator_of(layer: Any) -> Any:
    """Give a layer a seed generator of its own, whose state is part of its model's state."""
    found = getattr(layer, "_manyhands_seeds", None)
    if found is None:
        layer._tracker.unlock()
        layer._manyhands_seeds = found = seed_generator.SeedGenerator()
        layer._tracker.lock()
    return found


PATCHES = [
    Patch(
        seed_generator,
        "global_seed_generator",
        _global_generator,
        "random functions without a seed may be used in steps",
    ),
    Patch(Layer, "__call__", _layer_call, "we know which layer is being called"),
]
