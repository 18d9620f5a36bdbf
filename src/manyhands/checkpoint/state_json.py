"""States as JSON, exactly: bytes, tuples, sets, arrays and dicts with any keys included.

In: what `get_state()` gave.  Out: JSON values, and the state again.  Nothing is ever unpickled.
What is large (arrays, bytes, long lists of numbers, in the end any long JSON) is put aside as the
bytes of one array, which is stored as the arrays of variables are: the JSON itself stays short.
What cannot come back as it was is refused here, where it is saved.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from manyhands.checkpoint.dtype_words import dtype_of, words_of

_SMALL_BYTES = 4096
_LONG_JSON = 2**16
_MANY_NUMBERS = 32
_LONG_INT_BITS = 1024
"""Python does not read integers of thousands of digits as decimals."""
_COLLECTIONS = {"~tuple": tuple, "~set": set, "~frozenset": frozenset}


def encode(state: Any, aside: dict[str, np.ndarray], key: str) -> Any:
    """Turn a state into JSON values; TypeError when it holds anything else.

    What is large goes into one array in `aside`, under a name that begins with `key`.
    """
    encoder = _Encoder(f"{key}#{len(aside)}")
    try:
        value = encoder.encode(state)
        text = json.dumps(value)
    except RecursionError:
        raise TypeError("something that holds itself, or is nested too deeply") from None
    if len(text) > _LONG_JSON:
        value = {"~json": encoder.put(np.frombuffer(text.encode(), np.uint8))}
    if encoder.pieces:
        aside[encoder.name] = np.concatenate(encoder.pieces)
    return value


class _Encoder:
    """One state on its way to JSON, and the bytes that are put aside for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pieces: list[np.ndarray] = []
        self._num_bytes = 0

    def put(self, array: np.ndarray) -> dict[str, Any]:
        """Give the JSON of an array; a large one is put aside."""
        described = {"dtype": words_of(array.dtype), "shape": list(array.shape)}
        data = array.tobytes()
        if len(data) <= _SMALL_BYTES:
            return {"~array": base64.b64encode(data).decode(), **described}
        at, self._num_bytes = self._num_bytes, self._num_bytes + len(data)
        self.pieces.append(np.frombuffer(data, np.uint8))
        return {"~aside": self.name, "at": at, **described}

    def encode(self, state: Any) -> Any:
        if isinstance(state, np.generic):  # first: NumPy's words and floats are also Python's
            return self.put(np.asarray(state))
        if state is None or isinstance(state, bool | str) or type(state) is float:
            return state
        if type(state) is int:
            return state if state.bit_length() <= _LONG_INT_BITS else {"~int": hex(state)}
        if isinstance(state, list):
            return self._items(state)
        if isinstance(state, dict):
            return self._dict(state)
        if isinstance(state, bytes):
            return {"~bytes": self.put(np.frombuffer(state, np.uint8))}
        if isinstance(state, deque):
            return {"~deque": self._items(state), "maxlen": state.maxlen}
        for mark, kind in _COLLECTIONS.items():
            if isinstance(state, kind):
                return {mark: self._items(state)}
        if isinstance(state, np.ndarray) or hasattr(state, "__array__"):
            array = np.asarray(state)
            return {**self.put(array), **({} if array.ndim else {"is_array": True})}
        raise TypeError(f"{type(state).__name__} is not plain data")

    def _dict(self, state: dict[Any, Any]) -> dict[str, Any]:
        if all(isinstance(name, str) and not name.startswith("~") for name in state):
            return {name: self.encode(item) for name, item in state.items()}
        return {"~dict": [[self.encode(n), self.encode(i)] for n, i in state.items()]}

    def _items(self, items: Collection[Any]) -> Any:
        if len(items) >= _MANY_NUMBERS:
            numbers = _as_numbers(items)
            if numbers is not None:
                plain = type(next(iter(items))) in (bool, int, float)
                return {"~numbers" if plain else "~scalars": self.put(numbers)}
        return [self.encode(item) for item in items]


def _as_numbers(items: Collection[Any]) -> np.ndarray | None:
    """Make an array of items that are all one kind of number, None if they are not."""
    types = set(map(type, items))
    if len(types) != 1:
        return None
    kind = types.pop()
    if kind in (bool, int, float):
        try:
            return np.fromiter(items, {bool: "?", int: "<i8", float: "<f8"}[kind], len(items))
        except OverflowError:
            return None
    if issubclass(kind, np.generic) and not issubclass(kind, np.flexible | np.object_):
        dtypes = {item.dtype for item in items}
        return np.array(list(items), dtypes.pop()) if len(dtypes) == 1 else None
    return None


def decode(state: Any, aside: Mapping[str, np.ndarray]) -> Any:
    """Turn JSON values back into the state."""
    if isinstance(state, list):
        return [decode(item, aside) for item in state]
    if not isinstance(state, dict):
        return state
    mark = next((name for name in state if name.startswith("~")), "")
    if not mark:
        return {name: decode(item, aside) for name, item in state.items()}
    return _decode_marked(mark, state, aside)


def _decode_marked(mark: str, state: dict[str, Any], aside: Mapping[str, np.ndarray]) -> Any:
    value = state[mark]
    if mark in ("~array", "~aside"):
        array = _decode_array(state, aside)
        return array if array.ndim or "is_array" in state else array[()]
    if mark in _COLLECTIONS:
        return _COLLECTIONS[mark](decode(value, aside))
    if mark == "~dict":
        return {decode(name, aside): decode(item, aside) for name, item in value}
    if mark == "~deque":
        return deque(decode(value, aside), state["maxlen"])
    if mark == "~int":
        return int(value, 16)
    if mark == "~bytes":
        old = isinstance(value, str)
        return base64.b64decode(value) if old else _decode_array(value, aside).tobytes()
    array = _decode_array(value, aside)
    if mark == "~json":
        return decode(json.loads(array.tobytes()), aside)
    assert mark in ("~numbers", "~scalars"), mark
    return array.tolist() if mark == "~numbers" else list(array)


def _decode_array(state: dict[str, Any], aside: Mapping[str, np.ndarray]) -> np.ndarray:
    if "~aside" in state and "at" not in state:  # as the first format had it
        return aside[state["~aside"]]
    dtype, shape = dtype_of(state["dtype"]), tuple(state["shape"])
    if "~aside" in state:
        num_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        data = aside[state["~aside"]][state["at"] : state["at"] + num_bytes]
    else:
        data = base64.b64decode(state["~array"])
    if not dtype.itemsize:
        return np.zeros(shape, dtype)
    return np.frombuffer(bytearray(data), dtype).reshape(shape)
