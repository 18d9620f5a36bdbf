"""tf.image: pictures, channels last, alone or in batches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from keras import ops

from manyhands.tf.dtypes import as_dtype, on_device
from manyhands.tf.edges import image_gradients, sobel_edges
from manyhands.tf.known_shapes import as_dims
from manyhands.tf.likeness import psnr, ssim
from manyhands.tf.pictures import encode_jpeg, encode_png
from manyhands.tf.random import _seeded, key
from manyhands.tf.resizing import ResizeMethod, resize, resize_with_pad
from manyhands.tf.tensor import tensor


def flip_left_right(image: Any) -> Any:
    """Mirror."""
    return jnp.flip(tensor(image), -2)


def flip_up_down(image: Any) -> Any:
    """Turn upside down."""
    return jnp.flip(tensor(image), -3)


def _flipped_at_random(image: Any, axis: int, drawn: Any) -> Any:
    image = tensor(image)
    count = () if image.ndim == 3 else (image.shape[0], 1, 1, 1)
    return jnp.where(jax.random.bernoulli(drawn, 0.5, count), jnp.flip(image, axis), image)


def random_flip_left_right(image: Any, seed: Any = None) -> Any:
    """Mirror every other picture, at random."""
    return _flipped_at_random(image, -2, key(seed))


def random_flip_up_down(image: Any, seed: Any = None) -> Any:
    """Turn every other picture upside down, at random."""
    return _flipped_at_random(image, -3, key(seed))


def stateless_random_flip_left_right(image: Any, seed: Any) -> Any:
    """Mirror by a seed alone."""
    return _flipped_at_random(image, -2, _seeded(seed))


def stateless_random_flip_up_down(image: Any, seed: Any) -> Any:
    """Turn upside down by a seed alone."""
    return _flipped_at_random(image, -3, _seeded(seed))


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: Any = None) -> Any:
    """Give pixels in another dtype, scaled to its range."""
    del name
    image, old, new = tensor(image), as_dtype(tensor(image).dtype), as_dtype(dtype)
    if old == new:
        return image
    if old.is_integer and new.is_floating:
        return image.astype(on_device(new)) / old.max
    if old.is_floating and new.is_integer:
        scaled = image * (new.max + 0.5)
        return (jnp.clip(scaled, new.min, new.max) if saturate else scaled).astype(on_device(new))
    if old.is_integer and new.is_integer:
        return (image.astype("float32") * ((new.max + 1) / (old.max + 1))).astype(on_device(new))
    return image.astype(on_device(new))


def _as_float(image: Any) -> tuple[Any, Any]:
    image = tensor(image)
    kind = as_dtype(image.dtype)
    return (image, None) if kind.is_floating else (convert_image_dtype(image, "float32"), kind)


def _back(image: Any, kind: Any) -> Any:
    return image if kind is None else convert_image_dtype(image, kind, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Any:
    """Add to every pixel."""
    image, kind = _as_float(image)
    return _back(image + delta, kind)


def adjust_contrast(images: Any, contrast_factor: Any) -> Any:
    """Move pixels away from their mean."""
    images, kind = _as_float(images)
    mean = jnp.mean(images, (-3, -2), keepdims=True)
    return _back((images - mean) * contrast_factor + mean, kind)


def adjust_gamma(image: Any, gamma: float = 1, gain: float = 1) -> Any:
    """Raise pixels to a power."""
    image, kind = _as_float(image)
    return _back(gain * image**gamma, kind)


def rgb_to_grayscale(images: Any, name: Any = None) -> Any:
    """One channel of brightness."""
    del name
    images, kind = _as_float(images)
    weights = jnp.asarray([0.2989, 0.587, 0.114], images.dtype)
    return _back(jnp.sum(images * weights, -1, keepdims=True), kind)


def grayscale_to_rgb(images: Any, name: Any = None) -> Any:
    """Three equal channels."""
    del name
    return jnp.repeat(tensor(images), 3, -1)


def rgb_to_hsv(images: Any, name: Any = None) -> Any:
    """Hue, saturation and value."""
    del name
    return ops.image.rgb_to_hsv(tensor(images), data_format="channels_last")


def hsv_to_rgb(images: Any, name: Any = None) -> Any:
    """Red, green and blue."""
    del name
    return ops.image.hsv_to_rgb(tensor(images), data_format="channels_last")


_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_OF_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def rgb_to_yuv(images: Any) -> Any:
    """Brightness and two differences of colour."""
    images = tensor(images)
    return jnp.matmul(images, jnp.asarray(_YUV, images.dtype), precision="highest")


def yuv_to_rgb(images: Any) -> Any:
    """Red, green and blue."""
    images = tensor(images)
    return jnp.matmul(images, jnp.asarray(_OF_YUV, images.dtype), precision="highest")


def adjust_hue(image: Any, delta: Any, name: Any = None) -> Any:
    """Turn the colours round."""
    del name
    image, kind = _as_float(image)
    hsv = rgb_to_hsv(image)
    return _back(hsv_to_rgb(hsv.at[..., 0].set((hsv[..., 0] + delta) % 1.0)), kind)


def adjust_saturation(image: Any, saturation_factor: Any, name: Any = None) -> Any:
    """Make colours stronger or weaker."""
    del name
    image, kind = _as_float(image)
    hsv = rgb_to_hsv(image)
    stronger = jnp.clip(hsv[..., 1] * saturation_factor, 0, 1)
    return _back(hsv_to_rgb(hsv.at[..., 1].set(stronger)), kind)


def _between(low: Any, high: Any, seed: Any) -> Any:
    return jax.random.uniform(key(seed), (), minval=low, maxval=high)


def random_brightness(image: Any, max_delta: float, seed: Any = None) -> Any:
    """Add the same random number to every pixel."""
    return adjust_brightness(image, _between(-max_delta, max_delta, seed))


def random_contrast(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    """More or less contrast, at random."""
    return adjust_contrast(image, _between(lower, upper, seed))


def random_hue(image: Any, max_delta: float, seed: Any = None) -> Any:
    """Turn the colours round, at random."""
    return adjust_hue(image, _between(-max_delta, max_delta, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Any:
    """Stronger or weaker colours, at random."""
    return adjust_saturation(image, _between(lower, upper, seed))


def random_crop(value: Any, size: Any, seed: Any = None, name: Any = None) -> Any:
    """Cut a piece out, anywhere."""
    del name
    return _cropped(tensor(value), as_dims(size), key(seed))


def stateless_random_crop(value: Any, size: Any, seed: Any, name: Any = None) -> Any:
    """Cut a piece out, by a seed alone."""
    del name
    return _cropped(tensor(value), as_dims(size), _seeded(seed))


def _cropped(value: Any, size: tuple[int, ...], drawn: Any) -> Any:
    size = tuple(dim if one == -1 else one for one, dim in zip(size, value.shape, strict=True))
    if any(one > dim for one, dim in zip(size, value.shape, strict=True)):
        raise ValueError(f"Need value.shape >= size, got {tuple(value.shape)} and {size}")
    keys = jax.random.split(drawn, value.ndim)
    starts = [
        jax.random.randint(keys[i], (), 0, dim - one + 1)
        for i, (one, dim) in enumerate(zip(size, value.shape, strict=True))
    ]
    return jax.lax.dynamic_slice(value, starts, size)


def crop_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Any:
    """Cut a box out."""
    return tensor(image)[
        ...,
        offset_height : offset_height + target_height,
        offset_width : offset_width + target_width,
        :,
    ]


def pad_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Any:
    """Put zeros around."""
    image = tensor(image)
    rows = (offset_height, target_height - offset_height - image.shape[-3])
    columns = (offset_width, target_width - offset_width - image.shape[-2])
    return jnp.pad(image, [(0, 0)] * (image.ndim - 3) + [rows, columns, (0, 0)])


def resize_with_crop_or_pad(image: Any, target_height: int, target_width: int) -> Any:
    """Cut off or put zeros around, evenly on both sides."""
    image = tensor(image)
    height, width = image.shape[-3:-1]
    top, left = max(0, (height - target_height) // 2), max(0, (width - target_width) // 2)
    image = crop_to_bounding_box(
        image, top, left, min(height, target_height), min(width, target_width)
    )
    above, before = max(0, (target_height - height) // 2), max(0, (target_width - width) // 2)
    return pad_to_bounding_box(image, above, before, target_height, target_width)


def central_crop(image: Any, central_fraction: float) -> Any:
    """Keep the middle."""
    image = tensor(image)
    height, width = image.shape[-3:-1]
    top, left = (
        int((height - height * central_fraction) / 2),
        int((width - width * central_fraction) / 2),
    )
    return crop_to_bounding_box(image, top, left, height - 2 * top, width - 2 * left)


def rot90(image: Any, k: int = 1, name: Any = None) -> Any:
    """Turn by quarters, against the clock."""
    del name
    return jnp.rot90(tensor(image), k, (-3, -2))


def transpose(image: Any, name: Any = None) -> Any:
    """Exchange rows and columns."""
    del name
    return jnp.swapaxes(tensor(image), -3, -2)


def per_image_standardization(image: Any) -> Any:
    """Mean zero and variance one, picture by picture."""
    image = tensor(image)
    image = image if as_dtype(image.dtype).is_floating else image.astype("float32")
    axes = (-3, -2, -1)
    count = image.shape[-1] * image.shape[-2] * image.shape[-3]
    spread = jnp.maximum(jnp.std(image, axes, keepdims=True), count**-0.5)
    return (image - jnp.mean(image, axes, keepdims=True)) / spread


def total_variation(images: Any, name: Any = None) -> Any:
    """How much neighbouring pixels differ."""
    del name
    images = tensor(images)
    down = jnp.abs(images[..., 1:, :, :] - images[..., :-1, :, :]).sum((-3, -2, -1))
    across = jnp.abs(images[..., :, 1:, :] - images[..., :, :-1, :]).sum((-3, -2, -1))
    return down + across


def decode_image(
    contents: Any,
    channels: int = 0,
    dtype: Any = "uint8",
    name: Any = None,
    expand_animations: bool = True,
) -> Any:
    """Read a picture from the bytes of a file (with Pillow)."""
    del name, expand_animations
    from manyhands.tf.pictures import decode

    return convert_image_dtype(decode(contents, channels), dtype)


decode_jpeg = decode_png = decode_bmp = decode_image

__all__ = [
    "ResizeMethod",
    "encode_jpeg",
    "encode_png",
    "image_gradients",
    "psnr",
    "resize",
    "resize_with_pad",
    "sobel_edges",
    "ssim",
]
