"""Tensors as tf.print and tf.strings.format write them."""

from __future__ import annotations

from typing import Any

import numpy as np


def written(value: Any, most: int) -> str:
    """Write numbers or text: the first and last `most` of many; all of them when negative."""
    array = np.asarray(value)
    if array.dtype.kind == "b":
        array = array.astype(int)
    if array.ndim == 0:
        return _word(array[()])
    formatted = np.empty(array.shape, object)
    formatted[...] = array
    return np.array2string(
        formatted,
        separator=" ",
        threshold=2 * most if most >= 0 else array.size + 1,
        edgeitems=max(most, 0) or 3,
        max_line_width=10**9,
        formatter={"all": _word},
    )


def _word(one: Any) -> str:
    if isinstance(one, bytes):
        return f'"{one.decode(errors="replace")}"'
    return f"{one:g}" if np.asarray(one).dtype.kind == "f" else str(one)
