"""Draw from Keras' seed generators."""

from __future__ import annotations

from typing import Any

import jax
from keras.src.random.seed_generator import draw_seed


def draw_key(generator: Any = None) -> Any:
    """Draw a JAX key: from a SeedGenerator, or from the program's own when there is none."""
    return jax.random.wrap_key_data(draw_seed(generator).astype("uint32"), impl="threefry2x32")
