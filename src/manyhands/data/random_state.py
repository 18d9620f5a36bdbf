"""The random numbers that data is drawn with: NumPy's global generator and Python's.

In: nothing.  Out: their state, as JSON can hold it; and both going on from such a state.
Keras shuffles arrays with the one, the batches of a PyDataset with the other.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np


def random_state() -> dict[str, Any]:
    """Give the state of both generators."""
    version, numbers, gauss = random.getstate()
    return {
        "numpy": _plain(np.random.get_state(legacy=False)),
        "python": [version, list(numbers), gauss],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Make both generators go on from a state."""
    np.random.set_state(_with_arrays(state["numpy"]))
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "numbers": value.tolist()}
    return value.item() if isinstance(value, np.generic) else value


def _with_arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value.keys() == {"dtype", "numbers"}:
        return np.array(value["numbers"], value["dtype"])
    return {name: _with_arrays(part) for name, part in value.items()}
