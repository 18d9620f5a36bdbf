"""Keras' seed generators, inside steps that are traced.

In: a generator, or none for the program's own.  Out: keys that differ each time a step runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from keras.src.random import seed_generator

from manyhands.engine.keras_inside.variables import outside_of_steps


def draw_key(generator: Any = None) -> Any:
    """Draw a JAX key: from a SeedGenerator, or from the program's own when there is none."""
    words: Any = seed_generator.draw_seed(generator)
    return jax.random.wrap_key_data(words.astype("uint32"), impl="threefry2x32")


def install_seeds(*, in_step: Callable[[], bool]) -> None:
    """Let random functions without a seed be used in steps, once a process.

    Keras forbids them while JAX traces, because they would become constants.  In a step the
    generator's state is part of the step's state, so they do not.
    """
    original = seed_generator.global_seed_generator
    if getattr(original, "_manyhands_installed", False):
        return

    @functools.wraps(original)
    def global_seed_generator() -> Any:
        if not in_step():
            return original()
        with outside_of_steps():
            return original()

    setattr(global_seed_generator, "_manyhands_installed", True)  # noqa: B010
    seed_generator.global_seed_generator = global_seed_generator
