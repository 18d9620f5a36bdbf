"""The user's words for where a model trains."""

from manyhands.strategies.context import (
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from manyhands.strategies.distributed_dataset import DistributedDataset, InputContext
from manyhands.strategies.mirrored import MirroredStrategy
from manyhands.strategies.multi_worker import (
    CommunicationImplementation,
    CommunicationOptions,
    MultiWorkerMirroredStrategy,
)
from manyhands.strategies.one_device import OneDeviceStrategy
from manyhands.strategies.reduce_op import ReduceOp
from manyhands.strategies.strategy import Strategy

__all__ = [
    "CommunicationImplementation",
    "CommunicationOptions",
    "DistributedDataset",
    "InputContext",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "ReduceOp",
    "Strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
