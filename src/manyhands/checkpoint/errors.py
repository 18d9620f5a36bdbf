"""What can go wrong with a checkpoint.

    CheckpointError
    ├── CheckpointNotFoundError   there is no checkpoint at this path (a FileNotFoundError)
    ├── CheckpointDamagedError    it is not as it was written (a ValueError)
    ├── CheckpointMismatchError   its values do not fit the variables (a ValueError)
    ├── CheckpointWriteError      it could not be written (an OSError)
    ├── NotTrackableError         there is nothing in this object to save (a ValueError)
    ├── CheckpointArgumentError   asked for something that makes no sense (a ValueError)
    └── UnmatchedError            saved values and objects do not pair up (an AssertionError)

Each is also the kind of error that a program written for TensorFlow would catch there.
"""

from __future__ import annotations

from manyhands.errors import ManyhandsError


class CheckpointError(ManyhandsError):
    """Something about a checkpoint."""


class CheckpointNotFoundError(CheckpointError, FileNotFoundError):
    """There is no checkpoint at this path."""


class CheckpointDamagedError(CheckpointError, ValueError):
    """A checkpoint is not as it was written."""

    damage = ""
    """What differs, in a few words."""


class CheckpointMismatchError(CheckpointError, ValueError):
    """The values of a checkpoint do not fit the variables."""


class CheckpointWriteError(CheckpointError, OSError):
    """A checkpoint could not be written."""


class NotTrackableError(CheckpointError, ValueError):
    """There is nothing in this object to save."""


class CheckpointArgumentError(CheckpointError, ValueError):
    """Asked for something that makes no sense."""


class UnmatchedError(CheckpointError, AssertionError):
    """Saved values and objects do not pair up as the program said they would."""
