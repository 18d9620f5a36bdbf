"""The errors manyhands raises, and nothing else.

    ManyhandsError
    ├── BackendError     Keras runs on another backend than JAX
    ├── DeviceError      a device is unknown, repeated, or unlike the others
    │   └── DevicesStartedError   … or was asked for after JAX had started
    ├── ScopeError       a model and a strategy do not belong together
    ├── DataError        the rows given to fit, evaluate or predict make no sense
    ├── ClusterError     the cluster is described wrongly, or somebody in it is missing
    │   └── ProcessLostError      … or has been lost on the way
    ├── TapeError        a gradient was asked of a tape that cannot give it
    └── StepError        a step of a custom loop cannot run as it is written

Each message has three lines: what is wrong, what we got, what to do.  Where a program written for
Keras or TensorFlow would catch a ValueError or a RuntimeError, ours is one too.
"""

import sys
import warnings


class ManyhandsError(Exception):
    """Anything that manyhands itself reports."""

    def add_note(self, note: str, /) -> None:
        """Add a note, but JAX's on the frames that it removed: what to do is the last line."""
        if "JAX_TRACEBACK_FILTERING" not in note:  # as of JAX 0.10
            super().add_note(note)


class BackendError(ManyhandsError, RuntimeError):
    """Keras runs on another backend than JAX."""


class DeviceError(ManyhandsError, ValueError):
    """A device is unknown, repeated, or unlike the others."""


class DevicesStartedError(DeviceError, RuntimeError):
    """Asked for before-start settings after JAX has started its devices."""


class ScopeError(ManyhandsError, ValueError):
    """A model and a strategy do not belong together."""


class DataError(ManyhandsError, ValueError):
    """The rows given to fit, evaluate or predict make no sense."""


class ClusterError(ManyhandsError, ValueError, RuntimeError):
    """The cluster is described wrongly, or somebody in it is missing."""


class ProcessLostError(ClusterError):
    """Another process of the group has been lost."""


class TapeError(ManyhandsError, ValueError):
    """A gradient was asked of a tape that cannot give it."""


class StepError(ManyhandsError, RuntimeError):
    """A step of a custom loop cannot run as it is written."""


class ManyhandsWarning(UserWarning):
    """Something was done for you that you may want to know."""


def warn(message: str) -> None:
    """Say something once to the user, at the line of the program that it is about."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ManyhandsWarning, stacklevel=level)


_LIBRARIES = {"manyhands", "keras", "jax", "contextlib", "functools", "runpy"}


def explain(what: str, *, got: str, fix: str) -> str:
    """Lay out a message in our three lines."""
    return f"{what}\n  got: {got}\n  fix: {fix}"
