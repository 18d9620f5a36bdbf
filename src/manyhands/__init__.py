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
    from manyhands import callbacks, checkpoint, cluster, data, devices, telemetry, tf
    from manyhands.keras_bridge import uninstall
    from manyhands.keras_bridge.gradient_tape import GradientTape
    from manyhands.strategies import (
        CommunicationOptions,
        InputContext,
        MirroredStrategy,
        MultiWorkerMirroredStrategy,
        OneDeviceStrategy,
        ReduceOp,
        Strategy,
        get_replica_context,
        get_strategy,
        has_strategy,
        in_cross_replica_context,
    )

_HOMES = {
    "CommunicationOptions": "manyhands.strategies",
    "GradientTape": "manyhands.keras_bridge.gradient_tape",
    "InputContext": "manyhands.strategies",
    "MirroredStrategy": "manyhands.strategies",
    "MultiWorkerMirroredStrategy": "manyhands.strategies",
    "OneDeviceStrategy": "manyhands.strategies",
    "ReduceOp": "manyhands.strategies",
    "Strategy": "manyhands.strategies",
    "get_replica_context": "manyhands.strategies",
    "get_strategy": "manyhands.strategies",
    "has_strategy": "manyhands.strategies",
    "in_cross_replica_context": "manyhands.strategies",
    "uninstall": "manyhands.keras_bridge",
}
_ROOMS = ("callbacks", "checkpoint", "cluster", "data", "devices", "strategies", "telemetry", "tf")

__all__ = [
    "CommunicationOptions",
    "GradientTape",
    "InputContext",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "ReduceOp",
    "Strategy",
    "__version__",
    "callbacks",
    "checkpoint",
    "cluster",
    "config",
    "data",
    "devices",
    "errors",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "telemetry",
    "tf",
    "uninstall",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"manyhands.{name}")
    raise AttributeError(f"module 'manyhands' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
