"""The only module that touches JAX's private names: seeing operations while they run.

In: a listener.  Out: a Trace that JAX runs its operations through, and which hands each of them to
the listener.  Values stay what they are (arrays, or tracers of an outer transformation): nothing
is wrapped, so nothing can leak.

tests/engine/test_jax_inside.py fails when a new JAX changes what is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from jax._src import array, config, core, dtypes, literals, source_info_util

_NOBODYS = ("/keras/src/backend/", "/keras/src/ops/", "/keras/src/utils/", "/manyhands/engine/")
"""Where operations are made on behalf of others."""
Outputs = Any
Operation = Callable[..., Outputs]


class Listener(Protocol):
    """Is given every operation that runs while it listens."""

    def run(self, name: str, operation: Operation, arguments: list[Any]) -> Outputs:
        """Run the operation on its arguments, and return what it gives."""
        ...


class ListeningTrace(core.Trace):
    """Hands each operation to a listener, which runs it in the trace below."""

    __slots__ = ("_listener", "below")

    def __init__(self, listener: Listener, below: Any) -> None:
        super().__init__()
        self.below = below
        self._listener = listener
        self.requires_low = getattr(below, "requires_low", True)

    def stage_value(self, val: Any) -> Any:
        """Lift a value into the trace below."""
        with core.set_current_trace(self.below):
            return core.trace_ctx.trace.stage_value(val)

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        """Run one of JAX's own operations."""
        return self._heard(primitive.name, lambda *args: primitive.bind(*args, **params), tracers)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **params: Any
    ) -> Any:
        """Run a function that brings its own derivative."""

        def operation(*args: Any) -> Any:
            with core.take_current_trace() as trace:
                return trace.process_custom_jvp_call(primitive, fun, jvp, args, **params)

        return self._heard(primitive.name, operation, tracers)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **params: Any
    ) -> Any:
        """Run a function that brings its own gradient."""

        def operation(*args: Any) -> Any:
            with core.take_current_trace() as trace:
                return trace.process_custom_vjp_call(primitive, fun, fwd, bwd, args, **params)

        return self._heard(primitive.name, operation, tracers)

    def process_call(self, call_primitive: Any, f: Any, tracers: Any, params: Any, /) -> Any:
        """Run a called function (JAX before 0.12)."""

        def operation(*args: Any) -> Any:
            with core.take_current_trace() as trace:
                return trace.process_call(call_primitive, f, args, params)

        return self._heard(call_primitive.name, operation, tracers)

    def _heard(self, name: str, operation: Operation, tracers: Any) -> Any:
        with core.set_current_trace(self.below):
            return self._listener.run(name, operation, list(tracers))


class Listening:
    """Switches a listener on and off, for this thread."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._entered: list[Any] = []

    def begin(self) -> None:
        """Hear every operation from now on."""
        trace = ListeningTrace(self._listener, core.trace_ctx.trace)
        context = core.set_current_trace(trace)
        context.__enter__()
        self._entered.append((context, trace))

    def end(self) -> None:
        """Hear nothing any more."""
        context, _ = self._entered.pop()
        context.__exit__(None, None, None)

    @property
    def is_on(self) -> bool:
        """Whether operations are heard."""
        return bool(self._entered)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hear nothing inside."""
        with core.set_current_trace(self._entered[-1][1].below):
            yield


def outermost() -> Any:
    """Give a context in which operations run at once, whatever is being traced around it."""
    return core.set_current_trace(core.eval_trace)


def current_trace() -> Any:
    """Return what operations run through now."""
    return core.trace_ctx.trace


def within(trace: Any) -> Any:
    """Give a context in which operations run through this trace."""
    return core.set_current_trace(trace)


def beneath_listeners() -> Any:
    """Give a context in which nobody listens."""
    return core.set_current_trace(_beneath())


def _beneath() -> Any:
    trace = core.trace_ctx.trace
    while isinstance(trace, ListeningTrace):
        trace = trace.below
    return trace


def is_eager() -> bool:
    """Whether operations give values at once: nobody transforms the program around us."""
    trace = _beneath()
    return trace is core.eval_trace or trace is None


def is_tracer(value: Any) -> bool:
    """Whether a value stands for one that is not known yet."""
    return isinstance(value, core.Tracer)


def changes(*, before_printing: Callable[[], None]) -> list[tuple[Any, str, Any, str]]:
    """List what is changed in JAX: where, what, how, and why.

    A function is called before a value that is not known yet is printed or formatted.
    """

    def to_text(original: Any) -> Any:
        del original

        def __str__(self: Any) -> str:  # noqa: N807
            before_printing()
            return repr(self)

        return __str__

    def to_format(original: Any) -> Any:
        def __format__(self: Any, spec: str) -> str:  # noqa: N807
            before_printing()
            return original(self, spec)

        return __format__

    why = "a step that nobody asked to compile prints values"
    return [(core.Tracer, "__str__", to_text, why), (core.Tracer, "__format__", to_format, why)]


def install_fresh_arrays() -> None:
    """Have JAX take a NumPy array as it is now.

    JAX (0.10 to 0.12) remembers an array by its identity for as long as any program holds its
    numbers: a second trace would see those of the first, though they were changed in place.
    JAX has no way to take this back, nor does it change what a program computes.
    """
    dtypes.register_canonicalize_value_handler(np.ndarray, _as_it_is)


def _as_it_is(value: np.ndarray) -> Any:
    return literals.TypedNdArray(np.array(value, dtypes.canonicalize_dtype(value.dtype)))


def settings() -> Hashable:
    """Give every setting of JAX that a trace depends on: its flags, and contexts around us."""
    return config.trace_context()


def line_of(equation: Any) -> str:
    """Say which line an equation of a jaxpr comes from: a layer's or the program's, or ''."""
    for frame in source_info_util.user_frames(equation.source_info.traceback):
        if not any(part in frame.file_name for part in _NOBODYS):
            return f"{Path(frame.file_name).name}:{frame.start_line} ({frame.function_name})"
    return ""


def array_class() -> Any:
    """The class of JAX's arrays."""
    return array.ArrayImpl


def tracer_class() -> Any:
    """The class of values that are not known yet."""
    return core.Tracer


def evaluate(equation: Any, values: list[Any]) -> list[Any]:
    """Run one equation of a jaxpr on these values, under the names it was traced with."""
    source = equation.source_info
    names = source_info_util.current_name_stack() + source.name_stack
    params = equation.primitive.get_bind_params(equation.params)
    with (
        source_info_util.user_context(source.traceback, name_stack=names),
        equation.ctx.manager,
    ):
        given = equation.primitive.bind(*values, **params)
    return list(given) if equation.primitive.multiple_results else [given]
