"""How far a running `fit` is in its data.

In: a model whose `fit` is running.  Out: the place in its data, as JSON can hold it; and a `fit`
that goes on from such a place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from manyhands import keras_bridge
from manyhands.engine.agreement import agreement_on
from manyhands.errors import ScopeError, explain
from manyhands.training import call as calls


class Progress:
    """The place of one model's `fit` in its training data."""

    def __init__(self, model: Any) -> None:
        self._model = model
        if keras_bridge.driver_of(model) is None:
            raise ScopeError(
                explain(
                    "Resume needs a model that belongs to a strategy.",
                    got=f"model {model.name!r}, made outside of any",
                    fix="make the model inside `with mh.MirroredStrategy().scope():`.",
                )
            )

    @property
    def spans_processes(self) -> bool:
        """Whether other processes train the same model with this one."""
        driver = keras_bridge.driver_of(self._model)
        return driver is not None and driver.spans_processes

    def position(self) -> dict[str, Any]:
        """Say where training is."""
        return self._feeder().position()

    def resume(self, position: dict[str, Any], step: int) -> None:
        """Begin this epoch at a place that was saved, so many steps into it."""
        self._feeder().resume(position, step)

    def at_end(self, action: Callable[[], None]) -> None:
        """Do something when this `fit` ends, also by an error."""
        self._call().endings.append(action)

    def others(self) -> tuple[Any, ...]:
        """List the callbacks that `fit` was given, and the data sets that change themselves."""
        return (*self._call().callbacks, *self._call().datasets)

    def arrays_of_first(self, arrays: list[np.ndarray] | None) -> list[np.ndarray]:
        """Give process 0's arrays to all processes; the others pass None."""
        driver: Any = keras_bridge.driver_of(self._model)
        agreement = agreement_on(driver.layout)
        assert agreement is not None, "the model spans processes"
        return agreement.arrays_of_first(arrays)

    def _feeder(self) -> Any:
        return self._call().feeders[0]

    def _call(self) -> calls.Call:
        call = calls.current(self._model)
        assert call is not None, "fit is running"
        return call.within or call
