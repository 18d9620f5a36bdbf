"""tf.profiler: what the devices do and when, written for TensorBoard by JAX's profiler."""

from __future__ import annotations

from collections import namedtuple
from types import TracebackType
from typing import Any

import jax

from manyhands.tf.errors import AlreadyExistsError, UnavailableError
from manyhands.tf.missing import Names

ProfilerOptions = namedtuple(
    "ProfilerOptions",
    ["host_tracer_level", "python_tracer_level", "device_tracer_level", "delay_ms"],
    defaults=[2, 0, 1, None],
)


def _start(logdir: Any, options: Any = None) -> None:
    """Begin a profile in a folder."""
    try:
        jax.profiler.start_trace(str(logdir), profiler_options=_in_jaxs_words(options))
    except RuntimeError as error:
        raise AlreadyExistsError("Another profiler is running.") from error


def _in_jaxs_words(options: Any) -> Any:
    if options is None:
        return None
    made = jax.profiler.ProfileOptions()
    for level in ("host_tracer_level", "python_tracer_level", "device_tracer_level"):
        if hasattr(made, level):  # JAX 0.12 traces devices in one way only
            setattr(made, level, int(getattr(options, level)))
    return made


def _stop(save: bool = True) -> None:
    """End the profile; JAX always writes it, also where it need not be saved."""
    del save
    try:
        jax.profiler.stop_trace()
    except RuntimeError as error:
        raise UnavailableError(
            "Cannot export profiling results. No profiler is running."
        ) from error


class Profile:
    """Profiles what is inside `with`."""

    def __init__(self, logdir: Any, options: Any = None) -> None:
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        _start(self._logdir, self._options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _stop()


class Trace(jax.profiler.TraceAnnotation):
    """Names a part of a profile; with `step_num` and `_r=1` it is a step of training."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)


experimental = Names(
    "tf.profiler.experimental",
    Profile=Profile,
    ProfilerOptions=ProfilerOptions,
    Trace=Trace,
    start=_start,
    stop=_stop,
)
