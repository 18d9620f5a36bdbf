"""Train one Keras model on every device you have.

    import manyhands as mh
    import keras

    strategy = mh.MirroredStrategy()
    with strategy.scope():
        model = keras.Sequential([...])
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=256, epochs=3)

Importing this chooses Keras' JAX backend; Keras and JAX themselves load when a name needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from manyhands import config, errors
from manyhands._version import __version__

config.choose_keras_backend()
config.start_virtual_devices()  # MANYHANDS_DEVICES: before anyone starts JAX

if TYPE_CHECKING:
    from manyhands import devices, telemetry
    from manyhands.strategies import MirroredStrategy, OneDeviceStrategy, Strategy

_HOMES = {
    "MirroredStrategy": "manyhands.strategies",
    "OneDeviceStrategy": "manyhands.strategies",
    "Strategy": "manyhands.strategies",
}
_ROOMS = ("devices", "strategies", "telemetry")

__all__ = [
    "MirroredStrategy",
    "OneDeviceStrategy",
    "Strategy",
    "__version__",
    "config",
    "devices",
    "errors",
    "telemetry",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"manyhands.{name}")
    raise AttributeError(f"module 'manyhands' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
