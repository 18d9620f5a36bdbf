"""Save and restore: models, optimizers, data positions, on any number of devices.

checkpoint = mh.checkpoint.Checkpoint(model=model, optimizer=optimizer, step=step)
manager = mh.checkpoint.CheckpointManager(checkpoint, "runs/1", max_to_keep=3)
manager.restore_or_initialize()
...
manager.save()          # the loop waits for the copy off the device, not for the disk
"""

from manyhands.checkpoint.checkpoint import Checkpoint
from manyhands.checkpoint.errors import (
    CheckpointArgumentError,
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
    CheckpointNotFoundError,
    CheckpointWriteError,
    NotTrackableError,
    UnmatchedError,
)
from manyhands.checkpoint.index import CheckpointState, get_checkpoint_state
from manyhands.checkpoint.latest import latest_checkpoint
from manyhands.checkpoint.loading import checkpoint_exists
from manyhands.checkpoint.options import CheckpointOptions
from manyhands.checkpoint.reader import (
    CheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from manyhands.checkpoint.rotation import CheckpointManager
from manyhands.checkpoint.status import RestoreStatus

__all__ = [
    "Checkpoint",
    "CheckpointArgumentError",
    "CheckpointDamagedError",
    "CheckpointError",
    "CheckpointManager",
    "CheckpointMismatchError",
    "CheckpointNotFoundError",
    "CheckpointOptions",
    "CheckpointReader",
    "CheckpointState",
    "CheckpointWriteError",
    "NotTrackableError",
    "RestoreStatus",
    "UnmatchedError",
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
