"""What a running `fit` must remember besides its model, as a checkpoint keeps it.

In: the model and the other callbacks of its `fit`.  Out: objects with `get_state` and `set_state`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from manyhands import keras_bridge
from manyhands.checkpoint.plain_data import copied, is_plain, is_taken_for_data, refilled, same
from manyhands.errors import warn


class Where:
    """Where `fit` is."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.total = 0
        """Steps since the first program began."""

    def get_state(self) -> dict[str, Any]:
        """Give what is saved."""
        return self.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Take what was saved."""
        self.state = state


class Metrics:
    """The metrics of a model, which a checkpoint of it leaves out."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._values: list[Any] | None = None

    def get_state(self) -> list[Any]:
        """Copy their values."""
        return [np.asarray(variable.value) for variable in self._model.metrics_variables]

    def set_state(self, state: list[Any]) -> None:
        """Remember what was saved."""
        self._values = state

    def put_back(self) -> None:
        """Give the metrics the values that were saved."""
        variables = self._model.metrics_variables
        if self._values is not None and len(variables) == len(self._values):
            for variable, value in zip(variables, self._values, strict=True):
                variable.assign(value)


class Others:
    """What others have learned since training began: EarlyStopping's best, a PyDataset's order.

    One that has `get_state()` and `set_state(state)` is asked; of any other the attributes count
    that hold plain data (numbers, strings, bytes, arrays; lists, dicts and sets of them), and have
    changed.
    """

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self._callbacks = list(callbacks)
        self._before = [_attributes(callback) for callback in self._callbacks]
        self._saved: list[Any] = []

    def get_state(self) -> list[Any]:
        """Give what each has learned, with the name of its class."""
        return [
            [type(callback).__name__, _learned(callback, before)]
            for callback, before in zip(self._callbacks, self._before, strict=True)
        ]

    def set_state(self, state: list[Any]) -> None:
        """Remember what was saved."""
        self._saved = state

    @property
    def saved(self) -> list[Any]:
        """What was saved by an earlier program."""
        return self._saved

    def put_back(self) -> None:
        """Give it to the callbacks: each to the next of its class."""
        left = list(self._saved)
        for callback in self._callbacks:
            name = type(callback).__name__
            found = next((entry for entry in left if entry[0] == name), None)
            if found is not None:
                left.remove(found)
                _teach(callback, found[1])


def _learned(callback: Any, before: dict[str, Any]) -> Any:
    if _speaks_for_itself(callback):
        return callback.get_state()
    now = _attributes(callback)
    return {
        name: value
        for name, value in now.items()
        if name not in before or not same(value, before[name])
    }


def _teach(callback: Any, learned: Any) -> None:
    if _speaks_for_itself(callback):
        callback.set_state(learned)
        return
    held = vars(callback)
    held.update({name: refilled(held.get(name), value) for name, value in learned.items()})


def _speaks_for_itself(callback: Any) -> bool:
    return all(callable(getattr(callback, name, None)) for name in ("get_state", "set_state"))


def _attributes(callback: Any) -> dict[str, Any]:
    """Copy the attributes of a callback that are plain data."""
    if _speaks_for_itself(callback):
        return {}
    passed_by = keras_bridge.derived_attributes(callback)
    is_data = isinstance(callback, keras.utils.PyDataset)
    held = {
        name: value
        for name, value in vars(callback).items()
        if name not in passed_by and is_plain(value)
    }
    for name, value in held.items():
        is_array = isinstance(value, np.ndarray)
        if is_array and not is_data and is_taken_for_data(value, is_data=False):
            warn(
                f"{type(callback).__name__}.{name} is an array of {value.nbytes / 2**30:.1f} GiB, "
                "so what is changed in it is not kept for a fit that goes on. Give the callback "
                "get_state() and set_state(state) to keep it."
            )
    return {name: copied(value, is_data=is_data) for name, value in held.items()}
