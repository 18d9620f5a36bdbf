"""How alike two pictures are.

In: pictures, alone or in batches, channels last.  Out: one number a picture.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from manyhands.tf.dtypes import as_dtype
from manyhands.tf.tensor import tensor


def psnr(a: Any, b: Any, max_val: Any, name: Any = None) -> Any:
    """How alike two pictures are, in decibels."""
    del name
    a, b, most = _as_floats(a, b, max_val)
    error = jnp.mean(jnp.square(a - b), (-3, -2, -1))
    return 20 * jnp.log10(most) - 10 * jnp.log10(error)


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """How alike the structure of two pictures is: 1 where they are the same."""
    a, b, most = _as_floats(img1, img2, max_val)
    if min(a.shape[-3:-1]) < filter_size:
        raise ValueError(
            f"Pictures must be at least filter_size ({filter_size}) high and wide, got "
            f"{tuple(a.shape)}: give a smaller filter_size."
        )
    line = jax.nn.softmax(-jnp.square(jnp.arange(filter_size) - (filter_size - 1) / 2)
                          / (2 * filter_sigma**2))  # fmt: skip
    blurred = lambda x: _blurred(x, line)  # noqa: E731
    first, second = (k1 * most) ** 2, (k2 * most) ** 2
    a_mean, b_mean = blurred(a), blurred(b)
    product, squares = 2 * a_mean * b_mean, a_mean**2 + b_mean**2
    luminance = (product + first) / (squares + first)
    structure = (2 * blurred(a * b) - product + second) / (blurred(a**2 + b**2) - squares + second)
    found = luminance * structure
    return jnp.mean(found, -1) if return_index_map else jnp.mean(found, (-3, -2, -1))


def _as_floats(a: Any, b: Any, max_val: Any) -> tuple[Any, Any, Any]:
    """Give pixels, and the greatest that there may be, as fractions where they are integers."""
    a, b = tensor(a), tensor(b)
    kind = as_dtype(a.dtype)
    scale = 1.0 if kind.is_floating else float(kind.max)
    most = jnp.asarray(max_val, "float32") / scale
    return a.astype("float32") / scale, b.astype("float32") / scale, most


def _blurred(images: Any, line: Any) -> Any:
    """Weigh neighbours, where all of them are inside."""
    flat = images.reshape(-1, *images.shape[-3:])
    rows = jnp.moveaxis(flat, -1, 1).reshape(-1, 1, *flat.shape[1:3])
    for kernel in (line[:, None], line[None, :]):
        rows = jax.lax.conv(rows, kernel[None, None], (1, 1), "VALID")
    found = jnp.moveaxis(rows.reshape(flat.shape[0], flat.shape[-1], *rows.shape[2:]), 1, -1)
    return found.reshape(*images.shape[:-3], *found.shape[1:])
