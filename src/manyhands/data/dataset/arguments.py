"""Read the numbers and paths that users write.

In: ints, arrays of one number, names and lists of names.  Out: plain values, or an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from manyhands.data.dataset.structure import TEXT
from manyhands.errors import DataError, explain

_MOST_THREADS = 16
_LARGEST = 2**62


def count(value: Any, name: str) -> int:
    """Read a whole number of at least 1."""
    number = _number(value)
    if number is None or number < 1:
        raise DataError(
            explain(
                f"{name} has to be a whole number of at least 1.",
                got=_shown(value),
                fix=f"pass {name}=1 or more.",
            )
        )
    return number


def whole(value: Any, name: str) -> int:
    """Read any whole number."""
    number = _number(value)
    if number is None:
        raise DataError(
            explain(
                f"{name} has to be a whole number.",
                got=_shown(value),
                fix=f"pass {name}=3, say; -1 where everything, or our own choice, is meant.",
            )
        )
    return number


def _number(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if abs(number) > _LARGEST:
        return None
    fits = isinstance(value, int) or (not isinstance(value, str | bytes) and value == number)
    return number if fits else None


def as_number(found: Any) -> np.ndarray:
    """Take what a function returned for an array; of objects, where it is none."""
    try:
        return np.asarray(found)
    except ValueError:  # lists of unlike lengths
        return np.empty((), object)


def flag(value: Any, name: str) -> bool:
    """Read a yes or no."""
    try:
        return bool(value)
    except (TypeError, ValueError):  # an array of several
        raise DataError(
            explain(
                f"{name} is yes or no.",
                got=_shown(value),
                fix=f"pass {name}=True, or leave it out.",
            )
        ) from None


def _shown(value: Any) -> str:
    shown = f"{value!r} ({type(value).__name__})"
    return shown if len(shown) <= 200 else shown[:200] + "…"


def dataset_of(value: Any, name: str) -> Any:
    """Take a dataset."""
    if isinstance(value, type) or not getattr(value, "is_dataset_leaf", False):
        raise DataError(
            explain(f"{name} takes datasets.", got=_shown(value), fix="make it a Dataset first.")
        )
    return value


def datasets_of(values: Any, name: str) -> list[Any]:
    """Take a list of datasets."""
    if not isinstance(values, Iterable) or getattr(values, "is_dataset_leaf", False):
        raise DataError(
            explain(
                f"{name} takes a list of datasets.", got=_shown(values), fix="pass [first, second]."
            )
        )
    return [dataset_of(value, name) for value in values]


def many(values: Any, name: str) -> list[Any]:
    """Take a list of anything."""
    try:
        return list(values)
    except TypeError:
        raise DataError(
            explain(f"{name} has to be a list.", got=_shown(values), fix=f"pass {name}=[…].")
        ) from None


def function_of(value: Any, stage: str) -> Any:
    """Take a function."""
    if not callable(value):
        raise DataError(
            explain(
                f"{stage} needs a function.",
                got=_shown(value),
                fix="pass the function itself: a def, a lambda, a layer.",
            )
        )
    return value


def seed_of(seed: Any) -> int | None:
    """Read a seed: any whole number, or None."""
    return None if seed is None else whole(seed, "seed") & (2**63 - 1)


def threads(num_parallel_calls: Any) -> int:
    """How many threads a map may use; 0 for the one that asks."""
    if num_parallel_calls is None:
        return 0
    asked = whole(num_parallel_calls, "num_parallel_calls")
    if asked == 0 or asked < -1:
        count(asked, "num_parallel_calls")
    return min(_MOST_THREADS, os.cpu_count() or 1) if asked < 0 else min(asked, 64)


def paths_of(filenames: Any) -> np.ndarray:
    """Read one path or many, as an array of bytes."""
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    try:
        flat = [
            os.fsencode(path.item() if isinstance(path, np.generic) else path)
            for path in (filenames.reshape(-1) if isinstance(filenames, np.ndarray) else filenames)
        ]
    except (TypeError, ValueError, AttributeError):
        raise DataError(
            explain(
                "Files are named by a path, or by a list of paths.",
                got=_shown(filenames),
                fix='pass "rows.tfrecord", or ["a.tfrecord", "b.tfrecord"].',
            )
        ) from None
    out = np.empty(len(flat), TEXT)
    out[:] = flat
    return out
