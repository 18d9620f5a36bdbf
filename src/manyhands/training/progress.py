"""How far a running `fit` is in its data.

In: a model whose `fit` is running.  Out: the place in its data, as JSON can hold it; and a `fit`
that goes on from such a place.
"""

from __future__ import annotations

from typing import Any

from manyhands.engine import keras_inside
from manyhands.errors import ScopeError, explain
from manyhands.training import call as calls


class Progress:
    """The place of one model's `fit` in its training data."""

    def __init__(self, model: Any) -> None:
        self._model = model
        if keras_inside.driver_of(model) is None:
            raise ScopeError(
                explain(
                    "Resume needs a model that belongs to a strategy.",
                    got=f"model {model.name!r}, made outside of any",
                    fix="make the model inside `with mh.MirroredStrategy().scope():`.",
                )
            )

    def position(self) -> dict[str, Any]:
        """Say where training is."""
        return self._feeder().position()

    def resume(self, position: dict[str, Any], step: int) -> None:
        """Begin this epoch at a place that was saved, so many steps into it."""
        self._feeder().resume(position, step)

    def _feeder(self) -> Any:
        call = calls.current(self._model)
        assert call is not None, "fit is running"
        return (call.within or call).feeders[0]
