"""MirroredStrategy: every local device, one process."""

from __future__ import annotations

from collections.abc import Iterable

from manyhands.devices import DeviceLike
from manyhands.strategies.strategy import Strategy, mirrored_on


class MirroredStrategy(Strategy):
    """A copy of the model on each device of this process, all trained in step.

    Args:
        devices: names such as "GPU:0", "/gpu:1", "/device:CPU:2", or JAX devices. Every local GPU
            when left out; every CPU device where there is no GPU.
    """

    def __init__(self, devices: DeviceLike | Iterable[DeviceLike] | None = None) -> None:
        super().__init__(mirrored_on(devices))
