"""tf.summary: what TensorBoard shows, written while a program runs.

Works in loops, and inside steps that are compiled: the values are written when the step has run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import jax
import keras
import numpy as np

from manyhands.engine.jax_inside import is_tracer
from manyhands.keras_bridge.step_scope import current_step
from manyhands.telemetry.events import EventWriter
from manyhands.tf.missing import Names

_writer: ContextVar[SummaryWriter | None] = ContextVar("manyhands_summary", default=None)
_step: ContextVar[Any] = ContextVar("manyhands_summary_step", default=None)
_recording: ContextVar[bool] = ContextVar("manyhands_summary_recording", default=True)


class SummaryWriter:
    """An event file that summaries go to."""

    def __init__(self, logdir: Any, filename_suffix: str | None = None) -> None:
        self.events = EventWriter(logdir, filename_suffix or "")

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Write summaries here inside."""
        tokens = _writer.set(self), _step.set(_step.get() if step is None else step)
        try:
            yield self
        finally:
            _writer.reset(tokens[0])
            _step.reset(tokens[1])
            self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Write summaries here from now on."""
        _writer.set(self)
        if step is not None:
            _step.set(step)

    def init(self) -> None:
        """Nothing: it is ready."""

    def flush(self) -> None:
        """Put everything on the disk."""
        jax.effects_barrier()
        self.events.flush()

    def close(self) -> None:
        """Write no more."""
        jax.effects_barrier()
        self.events.close()


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: str | None = None,
    name: Any = None,
    experimental_trackable: bool = False,
) -> SummaryWriter:
    """Make an event file in a folder."""
    del max_queue, flush_millis, name, experimental_trackable
    return SummaryWriter(logdir, filename_suffix)


def create_noop_writer() -> Any:
    """Something that writes nothing."""
    return SimpleNamespace(
        as_default=lambda *_, **__: record_if(False), flush=_nothing, close=_nothing
    )


def _nothing() -> None:
    pass


def _write(kind: str, name: str, data: Any, step: Any, **options: Any) -> bool:
    writer = _writer.get()
    if writer is None or not _recording.get():
        return False
    step = _step.get() if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    data = data.value if isinstance(data, keras.Variable) else data
    step = step.value if isinstance(step, keras.Variable) else step
    method: Callable[..., None] = getattr(writer.events, kind)
    if is_tracer(data) or is_tracer(step) or current_step() is not None:
        jax.debug.callback(
            lambda value, at: method(name, np.asarray(value), int(at), **options), data, step
        )
    else:
        method(name, data if kind == "text" else np.asarray(data), int(step), **options)
    return True


def scalar(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write one number."""
    del description
    return _write("scalar", name, data, step)


def histogram(
    name: str, data: Any, step: Any = None, buckets: Any = None, description: Any = None
) -> bool:
    """Write how values are spread."""
    del description
    return _write("histogram", name, data, step, buckets=buckets or 30)


def image(
    name: str, data: Any, step: Any = None, max_outputs: int = 3, description: Any = None
) -> bool:
    """Write pictures."""
    del description
    return _write("pictures", name, data, step, most=int(max_outputs))


def text(name: str, data: Any, step: Any = None, description: Any = None) -> bool:
    """Write a text."""
    del description
    return _write("text", name, data, step)


def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: Any = None) -> bool:
    """Nothing: what plugins write (a model's graph, say) is not written here."""
    del tag, tensor, step, metadata, name
    return False


def flush(writer: Any = None, name: Any = None) -> None:
    """Put everything on the disk."""
    del name
    writer = writer or _writer.get()
    if writer is not None:
        writer.flush()


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Write only if this holds."""
    token = _recording.set(bool(condition() if callable(condition) else condition))
    try:
        yield
    finally:
        _recording.reset(token)


def should_record_summaries() -> bool:
    """Whether anything is written."""
    return _writer.get() is not None and _recording.get()


def _set_step(step: Any) -> None:
    """Count from here."""
    _step.set(step)


def _get_step() -> Any:
    """Where we are."""
    return _step.get()


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: Any = None) -> None:
    """Start a profile, where one is asked for."""
    del graph
    if profiler:
        jax.profiler.start_trace(str(profiler_outdir or "profile"))


def trace_export(name: str, step: Any = None, profiler_outdir: Any = None) -> None:
    """End the profile."""
    del name, step, profiler_outdir
    trace_off()


def trace_off() -> None:
    """End the profile."""
    try:
        jax.profiler.stop_trace()
    except RuntimeError:
        return  # none was started


@contextmanager
def _summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Iterator[Any]:
    """A tag for a summary, and the name it is made from."""
    del values
    yield name or default_name, name


experimental = Names(
    "tf.summary.experimental",
    summary_scope=_summary_scope,
    set_step=_set_step,
    get_step=_get_step,
    write_raw_pb=lambda *_, **__: False,
)
