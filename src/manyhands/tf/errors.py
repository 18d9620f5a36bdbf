"""tf.errors: the exceptions that TensorFlow's programs catch."""

from __future__ import annotations

from manyhands.errors import DeviceError, ManyhandsError


class OpError(ManyhandsError):
    """Anything that went wrong in an operation."""

    @property
    def message(self) -> str:
        """What went wrong."""
        return str(self)


class InvalidArgumentError(OpError, ValueError):
    """An argument makes no sense."""


NotFoundError = FileNotFoundError
"""Something is not there: what files and checkpoints raise here."""


class AlreadyExistsError(OpError, FileExistsError):
    """Something is there already."""


class PermissionDeniedError(OpError, PermissionError):
    """Something may not be done."""


OutOfRangeError = StopIteration
"""There is no more: what iterators raise here."""


class ResourceExhaustedError(OpError, MemoryError):
    """There is not enough memory."""


class FailedPreconditionError(OpError, RuntimeError):
    """Something was not ready."""


class UnimplementedError(OpError, NotImplementedError):
    """Something does not exist."""


class UnavailableError(OpError, ConnectionError):
    """Somebody cannot be reached."""


class AbortedError(OpError, RuntimeError):
    """Something was given up."""


class CancelledError(OpError, RuntimeError):
    """Something was called off."""


class DeadlineExceededError(OpError, TimeoutError):
    """Something took too long."""


class InternalError(OpError, RuntimeError):
    """Something that should not happen."""


class UnknownError(OpError, RuntimeError):
    """Something nobody knows."""


class DataLossError(OpError, ValueError):
    """Data is damaged."""


class UnauthenticatedError(OpError, PermissionError):
    """Somebody is not who they say."""


__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]
