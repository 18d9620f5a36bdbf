"""Where the pixels of pictures change."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from manyhands.tf.tensor import tensor


def image_gradients(image: Any) -> tuple[Any, Any]:
    """How each pixel differs from the one below, and from the one to the right."""
    image = tensor(image)
    if image.ndim != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {tuple(image.shape)}."
        )
    down = jnp.pad(image[:, 1:] - image[:, :-1], [(0, 0), (0, 1), (0, 0), (0, 0)])
    across = jnp.pad(image[:, :, 1:] - image[:, :, :-1], [(0, 0), (0, 0), (0, 1), (0, 0)])
    return down, across


def sobel_edges(image: Any) -> Any:
    """How much pixels change downwards and to the right, weighed over their neighbours."""
    image = tensor(image)
    x = jnp.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    height, width = image.shape[1:3]
    rows = [x[:, start : start + height] for start in range(3)]
    columns = [x[:, :, start : start + width] for start in range(3)]
    smooth_rows, smooth_columns = rows[0] + 2 * rows[1] + rows[2], (
        columns[0] + 2 * columns[1] + columns[2]
    )  # fmt: skip
    down = smooth_columns[:, 2:] - smooth_columns[:, :-2]
    across = smooth_rows[:, :, 2:] - smooth_rows[:, :, :-2]
    return jnp.stack([down, across], -1)
