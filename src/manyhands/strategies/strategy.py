"""What every strategy is: a placement, a scope, and the models that belong to it.

In: devices.  Out: models made in `scope()`, or adopted, train on those devices.
Each model keeps its own strategy, so strategies can live side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import jax
import keras

from manyhands.devices import DeviceLike, resolve
from manyhands.devices.choose import JaxDevice, name_of
from manyhands.engine import Placement, keras_inside
from manyhands.errors import BackendError, ScopeError, explain
from manyhands.training import PlacementDriver

Model = TypeVar("Model")

_scopes: ContextVar[tuple[Strategy, ...]] = ContextVar("manyhands_scopes", default=())


class Strategy:
    """A set of devices, each with a whole copy of the model and a share of every batch."""

    def __init__(self, devices: DeviceLike | Iterable[DeviceLike] | None = None) -> None:
        _require_jax()
        self._placement = Placement(resolve(devices))
        self._driver = PlacementDriver(self._placement)
        keras_inside.install(on_new_model=_on_new_model, on_other_model=_on_other_model)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many copies of the model train together."""
        return self._placement.num_replicas

    @property
    def devices(self) -> tuple[JaxDevice, ...]:
        """The devices, as JAX knows them."""
        return self._placement.devices

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Models made in here belong to this strategy, wherever they are compiled or fitted."""
        token = _scopes.set((*_scopes.get(), self))
        try:
            with jax.default_device(self.devices[0]):
                yield self
        finally:
            _scopes.reset(token)

    def adopt(self, model: Model) -> Model:
        """Take over a model that already exists; it keeps its weights and its optimizer."""
        if not hasattr(model, "train_function"):
            raise ScopeError(
                explain(
                    "Only a Keras model can be adopted.",
                    got=type(model).__name__,
                    fix="pass a keras.Model; give a plain layer to a model first.",
                )
            )
        keras_inside.bind(model, self._driver)
        return model

    def __repr__(self) -> str:
        names = ", ".join(str(name_of(device)) for device in self.devices)
        return f"{type(self).__name__}([{names}])"


def get_strategy() -> Strategy | None:
    """Return the strategy whose scope we are in, None outside of any."""
    scopes = _scopes.get()
    return scopes[-1] if scopes else None


def has_strategy() -> bool:
    """Whether we are in a strategy's scope."""
    return bool(_scopes.get())


def _require_jax() -> None:
    if keras.backend.backend() != "jax":
        raise BackendError(
            explain(
                "manyhands needs Keras on its JAX backend, and Keras has been loaded with another.",
                got=f"Keras' backend is {keras.backend.backend()!r}",
                fix="import manyhands before keras, or set KERAS_BACKEND=jax in the environment.",
            )
        )


def _on_new_model(model: Any) -> None:
    strategy = get_strategy()
    if strategy is not None and keras.distribution.distribution() is None:
        strategy.adopt(model)


def _on_other_model(model: Any, called: str) -> None:
    """Say so when a model is trained in a scope that it does not belong to."""
    strategy = get_strategy()
    driver = keras_inside.driver_of(model)
    if strategy is None or driver is strategy._driver:
        return
    if keras.distribution.distribution() is not None:
        return  # the user chose keras.distribution for what happens here
    if called not in ("compile", "fit", "train_on_batch"):
        return
    whose = "outside of it" if driver is None else "under another strategy"
    raise ScopeError(
        explain(
            f"{called} was called in the scope of a strategy that the model does not belong to.",
            got=f"{strategy!r}; model {model.name!r} was made {whose}",
            fix="make the model inside `with strategy.scope():`, or call "
            "strategy.adopt(model) first.",
        )
    )
