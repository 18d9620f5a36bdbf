"""tf.train: checkpoints, and the Example that records are made of."""

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
from manyhands.data.dataset import (
    BytesList,
    Example,
    Feature,
    Features,
    FloatList,
    Int64List,
)

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "Example",
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
