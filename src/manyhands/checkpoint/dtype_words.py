"""NumPy's dtypes as words that JSON can hold.

In: a dtype.  Out: its words, and the same dtype again.  TypeError for one that has none: objects,
and records of numbers that NumPy itself does not know.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401  (teaches NumPy the names of bfloat16 and the like)
import numpy as np
from numpy.lib import format as npy_format


def words_of(dtype: np.dtype) -> Any:
    """Give the words of a dtype: '<f4', 'bfloat16', or a list of the fields of a record."""
    if not dtype.hasobject:
        for words in (dtype.str, str(dtype), npy_format.dtype_to_descr(dtype)):
            try:
                if dtype_of(words) == dtype:
                    return words
            except (TypeError, ValueError):
                continue
    raise TypeError(f"an array of {dtype} is not plain data")


def dtype_of(words: Any) -> np.dtype:
    """Give the dtype of these words."""
    return np.dtype(words) if isinstance(words, str) else npy_format.descr_to_dtype(_tupled(words))


def _tupled(words: Any) -> Any:
    """Make a record's fields tuples again, which JSON had turned into lists."""
    if not isinstance(words, list | tuple):
        return words
    return [(_tuple(field[0]), _tupled_part(field[1]), *map(_tuple, field[2:])) for field in words]


def _tupled_part(part: Any) -> Any:
    return part if isinstance(part, str) else _tupled(part)


def _tuple(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part
