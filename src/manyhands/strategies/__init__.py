"""The user's words for where a model trains."""

from manyhands.strategies.mirrored import MirroredStrategy
from manyhands.strategies.one_device import OneDeviceStrategy
from manyhands.strategies.strategy import Strategy, get_strategy, has_strategy

__all__ = ["MirroredStrategy", "OneDeviceStrategy", "Strategy", "get_strategy", "has_strategy"]
