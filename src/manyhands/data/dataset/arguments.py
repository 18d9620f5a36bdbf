"""Read the numbers and paths that users write.

In: ints, arrays of one number, names and lists of names.  Out: plain values, or an error.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from manyhands.data.dataset.structure import TEXT
from manyhands.errors import DataError, explain

_MOST_THREADS = 16


def count(value: Any, name: str) -> int:
    """Read a whole number of at least 1."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or (isinstance(value, float) and value != number):
        raise DataError(
            explain(
                f"{name} has to be a whole number of at least 1.",
                got=repr(value),
                fix=f"pass {name}=1 or more.",
            )
        )
    return number


def seed_of(seed: Any) -> int | None:
    """Read a seed: any whole number, or None."""
    return None if seed is None else int(seed) & (2**63 - 1)


def threads(num_parallel_calls: Any) -> int:
    """How many threads a map may use; 0 for the one that asks."""
    if num_parallel_calls is None:
        return 0
    asked = int(num_parallel_calls)
    if asked == 0 or asked < -1:
        count(asked, "num_parallel_calls")
    return min(_MOST_THREADS, os.cpu_count() or 1) if asked < 0 else min(asked, 64)


def paths_of(filenames: Any) -> np.ndarray:
    """Read one path or many, as an array of bytes."""
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    flat = [
        os.fsencode(path.item() if isinstance(path, np.generic) else path)
        for path in (filenames.reshape(-1) if isinstance(filenames, np.ndarray) else filenames)
    ]
    out = np.empty(len(flat), TEXT)
    out[:] = flat
    return out
