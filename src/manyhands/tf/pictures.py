"""Read and write pictures: with Pillow, where it is installed; PNG is written without it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from manyhands.errors import ManyhandsError, explain
from manyhands.telemetry.events import png
from manyhands.tf.known_shapes import want_values
from manyhands.tf.tensor import Text, text

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _pillow(what: str) -> Any:
    try:
        from PIL import Image  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ManyhandsError(
            explain(
                f"{what} needs Pillow.",
                got="the package `pillow` is not installed",
                fix="run `pip install pillow`.",
            )
        ) from error
    return Image


def decode(contents: Any, channels: int) -> Any:
    """Turn the bytes of a picture file into pixels: rows, columns, channels."""
    Image = _pillow("Reading pictures")
    data = np.asarray(contents).item() if not isinstance(contents, bytes) else contents
    picture = Image.open(io.BytesIO(data))
    if channels:
        picture = picture.convert(_MODES[channels])
    elif picture.mode not in ("L", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    pixels = np.asarray(picture)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def encode_png(image: Any, compression: int = -1, name: Any = None) -> Text:
    """Write a PNG picture."""
    del compression, name  # the same pixels, in more bytes or fewer
    return text(png(_pixels(image, "encode_png", channels=(1, 2, 3, 4))))


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: Any = "",
    name: Any = None,
) -> Text:
    """Write a JPEG picture, with Pillow."""
    del name
    channels = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[format]
    pixels = _pixels(image, "encode_jpeg", channels=channels)
    per_inch = 2.54 if density_unit == "cm" else 1
    more = {"xmp": text(xmp_metadata).item()} if xmp_metadata else {}
    file = io.BytesIO()
    flat = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    _pillow("Writing JPEG pictures").fromarray(flat).save(
        file,
        "JPEG",
        quality=int(quality),
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=(x_density * per_inch, y_density * per_inch),
        **more,
    )
    return text(file.getvalue())


def _pixels(image: Any, name: str, *, channels: tuple[int, ...]) -> np.ndarray:
    want_values(image, f"tf.io.{name} writes values")
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[-1] not in channels or pixels.dtype != np.uint8:
        raise ValueError(
            explain(
                f"{name} takes one picture of rows, columns and {channels} channels in uint8.",
                got=f"shape {pixels.shape} in {pixels.dtype.name}",
                fix="use tf.image.convert_image_dtype(image, tf.uint8), one picture at a time.",
            )
        )
    return pixels
