"""Pictures of another size, by each of TensorFlow's methods.

In: pictures, channels last.  Out: pictures.  What Keras has is Keras'; the other methods are two
matrices: how much each old row, and each old column, counts in a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

import jax.numpy as jnp
import numpy as np
from keras import ops

from manyhands.errors import explain
from manyhands.tf.dtypes import as_dtype
from manyhands.tf.known_shapes import as_dims
from manyhands.tf.tensor import tensor


class ResizeMethod:
    """How pixels are made from others."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_OF_KERAS = ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")


def resize(
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: Any = None,
) -> Any:
    """Make pictures of another size."""
    del name
    images = tensor(images)
    height, width = as_dims(size)
    if preserve_aspect_ratio:
        scale = min(height / images.shape[-3], width / images.shape[-2])
        height, width = round(images.shape[-3] * scale), round(images.shape[-2] * scale)
    given = images if as_dtype(images.dtype).is_floating else images.astype("float32")
    if method in _OF_KERAS and (method != "bicubic" or antialias):
        found: Any = ops.image.resize(
            given,
            (height, width),
            interpolation=method,
            antialias=antialias and method != "nearest",
            data_format="channels_last",
        )
        return found.astype(images.dtype) if method == "nearest" else found
    weights = [
        jnp.asarray(_weights(method, *sizes, antialias), given.dtype)
        for sizes in zip(images.shape[-3:-1], (height, width), strict=True)
    ]
    return jnp.einsum("...hwc,Hh,Ww->...HWc", given, *weights, precision="highest")


def _weights(method: str, old: int, new: int, antialias: bool) -> np.ndarray:
    """How much each old pixel of a line counts in each new one."""
    scale = old / new
    if method == "area":
        ends = np.arange(new + 1)[:, None] * scale
        upper = np.minimum(ends[1:], np.arange(1, old + 1))
        return np.maximum(upper - np.maximum(ends[:-1], np.arange(old)), 0) / scale
    kernel, radius = _kernel(method)
    wide = max(scale, 1.0) if antialias else 1.0
    middles = (np.arange(new)[:, None] + 0.5) * scale
    if method == "bicubic":  # TensorFlow looks its weights up in a table, 1024 steps a pixel
        whole = np.floor(middles - 0.5)
        middles = whole + np.round((middles - 0.5 - whole) * 1024) / 1024 + 0.5
    away = (np.arange(old) + 0.5 - middles) / wide
    counted = np.where(np.abs(away) <= radius, kernel(np.abs(away)), 0)
    return counted / counted.sum(1, keepdims=True)


def _kernel(method: str) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    if method == "bicubic":
        return _keys, 2.0
    if method == "gaussian":
        return lambda x: np.where(x < 1.5, np.exp(-2 * x**2), 0), 1.5
    if method == "mitchellcubic":
        return _mitchell, 2.0
    raise ValueError(
        explain(
            "Resize method is not implemented.",
            got=repr(method),
            fix="use bilinear, nearest, bicubic, area, lanczos3, lanczos5, gaussian or "
            "mitchellcubic.",
        )
    )


def _keys(x: np.ndarray) -> np.ndarray:
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _mitchell(x: np.ndarray) -> np.ndarray:
    near = ((7 / 6 * x - 2) * x) * x + 8 / 9
    far = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def resize_with_pad(
    image: Any,
    target_height: int,
    target_width: int,
    method: str = "bilinear",
    antialias: bool = False,
) -> Any:
    """Make pictures of another size that keep their proportions, and put zeros around."""
    image = tensor(image)
    height, width = image.shape[-3:-1]
    ratio = max(width / target_width, height / target_height)
    rows, columns = floor(height / ratio), floor(width / ratio)
    resized = resize(image, (rows, columns), method, antialias=antialias)
    above, before = max(0, (target_height - rows) // 2), max(0, (target_width - columns) // 2)
    sides = [(above, target_height - rows - above), (before, target_width - columns - before)]
    return jnp.pad(resized, [(0, 0)] * (image.ndim - 3) + sides + [(0, 0)])
