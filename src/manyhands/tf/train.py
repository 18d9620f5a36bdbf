"""tf.train: checkpoints, averages, and the Example that records are made of."""

from __future__ import annotations

from manyhands.checkpoint import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from manyhands.cluster import ClusterSpec
from manyhands.data.dataset import (
    BytesList,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
)
from manyhands.tf.moving_average import ExponentialMovingAverage

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "ClusterSpec",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "Features",
    "FloatList",
    "Int64List",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
