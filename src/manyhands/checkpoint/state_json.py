"""States as JSON, exactly: bytes, tuples, arrays and dicts with any keys included.

In: what `get_state()` gave.  Out: JSON values, and the state again.  Nothing is ever unpickled.
"""

from __future__ import annotations

import base64
from typing import Any

import ml_dtypes  # noqa: F401  (teaches NumPy the names of bfloat16 and the like)
import numpy as np


def encode(state: Any) -> Any:
    """Turn a state into JSON values; TypeError when it holds anything else."""
    if state is None or isinstance(state, bool | str) or type(state) in (int, float):
        return state
    if isinstance(state, list):
        return [encode(item) for item in state]
    if isinstance(state, tuple):
        return {"~tuple": [encode(item) for item in state]}
    if isinstance(state, dict):
        if all(isinstance(key, str) and not key.startswith("~") for key in state):
            return {key: encode(item) for key, item in state.items()}
        return {"~dict": [[encode(key), encode(item)] for key, item in state.items()]}
    if isinstance(state, bytes):
        return {"~bytes": base64.b64encode(state).decode()}
    if isinstance(state, np.ndarray | np.generic) or hasattr(state, "__array__"):
        array = np.asarray(state)
        if array.dtype != object:
            return {
                "~array": base64.b64encode(array.tobytes()).decode(),
                "dtype": str(array.dtype),
                "shape": list(array.shape),
            }
    raise TypeError(f"{type(state).__name__} is not plain data")


def decode(state: Any) -> Any:
    """Turn JSON values back into the state."""
    if isinstance(state, list):
        return [decode(item) for item in state]
    if not isinstance(state, dict):
        return state
    if "~tuple" in state:
        return tuple(decode(item) for item in state["~tuple"])
    if "~dict" in state:
        return {decode(key): decode(item) for key, item in state["~dict"]}
    if "~bytes" in state:
        return base64.b64decode(state["~bytes"])
    if "~array" in state:
        data = np.frombuffer(base64.b64decode(state["~array"]), dtype=np.dtype(state["dtype"]))
        return data.reshape(state["shape"]).copy()[()]
    return {key: decode(item) for key, item in state.items()}
