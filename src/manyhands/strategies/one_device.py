"""OneDeviceStrategy: everything on one named device."""

from __future__ import annotations

from manyhands.devices import DeviceLike
from manyhands.strategies.strategy import Strategy, mirrored_on


class OneDeviceStrategy(Strategy):
    """The model and its data on one device; a program for many devices runs on it unchanged.

    Args:
        device: a name such as "GPU:1", "/cpu:0", or a JAX device.
    """

    def __init__(self, device: DeviceLike) -> None:
        super().__init__(mirrored_on([device]))
