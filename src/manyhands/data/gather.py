"""Copy rows out of host arrays, on several threads where that pays.

In: arrays and the rows wanted.  Out: new arrays of those rows, same dtype.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

_PIECE_BYTES = 8 * 2**20
"""Below this a second thread costs more than it saves."""


def take_rows(part: Any, rows: np.ndarray) -> Any:
    """Copy these rows of one array."""
    if not isinstance(part, np.ndarray) or part.dtype == object:
        return part[rows]
    pieces = min(_num_threads(), len(rows) * part[:1].nbytes // _PIECE_BYTES)
    if pieces < 2:
        return _take(part, rows, None)
    out = np.empty((len(rows), *part.shape[1:]), part.dtype)
    cuts = np.linspace(0, len(rows), pieces + 1).astype(int)
    spans = [slice(a, b) for a, b in pairwise(cuts)]
    list(_pool().map(lambda span: _take(part, rows[span], out[span]), spans))
    return out


def _take(part: np.ndarray, rows: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    # Row numbers are in range; "clip" spares NumPy a second look and a buffer, and lets go of the
    # interpreter, so that other threads run.
    return np.take(part, rows, axis=0, out=out, mode="clip")


def _num_threads() -> int:
    return max(1, min(8, (os.cpu_count() or 2) // 2))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_num_threads(), "manyhands-gather")
