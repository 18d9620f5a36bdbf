"""States as JSON, exactly: bytes, tuples, arrays and dicts with any keys included.

In: what `get_state()` gave.  Out: JSON values, and the state again.  Nothing is ever unpickled.
Large arrays are put aside, under a name: they are stored as the arrays of variables are.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import ml_dtypes  # noqa: F401  (teaches NumPy the names of bfloat16 and the like)
import numpy as np

_SMALL_BYTES = 4096


def encode(state: Any, aside: dict[str, np.ndarray], key: str) -> Any:
    """Turn a state into JSON values; TypeError when it holds anything else.

    Large arrays are copied into `aside`, under names that begin with `key`.
    """
    if state is None or isinstance(state, bool | str) or type(state) in (int, float):
        return state
    if isinstance(state, list):
        return [encode(item, aside, key) for item in state]
    if isinstance(state, tuple):
        return {"~tuple": [encode(item, aside, key) for item in state]}
    if isinstance(state, dict):
        if all(isinstance(name, str) and not name.startswith("~") for name in state):
            return {name: encode(item, aside, key) for name, item in state.items()}
        pairs = state.items()
        return {"~dict": [[encode(n, aside, key), encode(i, aside, key)] for n, i in pairs]}
    if isinstance(state, bytes):
        return {"~bytes": base64.b64encode(state).decode()}
    if isinstance(state, np.ndarray | np.generic) or hasattr(state, "__array__"):
        array = np.asarray(state)
        if array.dtype != object:
            return _encode_array(array, aside, key)
    raise TypeError(f"{type(state).__name__} is not plain data")


def _encode_array(array: np.ndarray, aside: dict[str, np.ndarray], key: str) -> dict[str, Any]:
    if array.nbytes > _SMALL_BYTES:
        name = f"{key}#{len(aside)}"
        aside[name] = array.copy()
        return {"~aside": name}
    return {
        "~array": base64.b64encode(array.tobytes()).decode(),
        "dtype": str(array.dtype),
        "shape": list(array.shape),
    }


def decode(state: Any, aside: Mapping[str, np.ndarray]) -> Any:
    """Turn JSON values back into the state."""
    if isinstance(state, list):
        return [decode(item, aside) for item in state]
    if not isinstance(state, dict):
        return state
    if "~tuple" in state:
        return tuple(decode(item, aside) for item in state["~tuple"])
    if "~dict" in state:
        return {decode(name, aside): decode(item, aside) for name, item in state["~dict"]}
    if "~bytes" in state:
        return base64.b64decode(state["~bytes"])
    if "~aside" in state:
        return aside[state["~aside"]]
    if "~array" in state:
        data = np.frombuffer(base64.b64decode(state["~array"]), dtype=np.dtype(state["dtype"]))
        return data.reshape(state["shape"]).copy()[()]
    return {name: decode(item, aside) for name, item in state.items()}
