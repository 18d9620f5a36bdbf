"""Read pictures with Pillow, where it is installed."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from manyhands.errors import ManyhandsError, explain

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def decode(contents: Any, channels: int) -> Any:
    """Turn the bytes of a picture file into pixels: rows, columns, channels."""
    try:
        from PIL import Image  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ManyhandsError(
            explain(
                "Reading pictures needs Pillow.",
                got="the package `pillow` is not installed",
                fix="run `pip install pillow`.",
            )
        ) from error
    data = np.asarray(contents).item() if not isinstance(contents, bytes) else contents
    picture = Image.open(io.BytesIO(data))
    if channels:
        picture = picture.convert(_MODES[channels])
    elif picture.mode not in ("L", "RGB", "RGBA"):
        picture = picture.convert("RGB")
    pixels = np.asarray(picture)
    return pixels[..., None] if pixels.ndim == 2 else pixels
