"""tf.function: a Python function that runs compiled.

In: a function or a method.  Out: the same, traced once for each kind of arguments.
The work is `engine.Function`'s; here are TensorFlow's arguments, methods and words.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from manyhands.data.plain import argument_for_jax, plain_everywhere
from manyhands.errors import warn
from manyhands.keras_bridge.function import Function
from manyhands.tf.dtypes import on_device
from manyhands.tf.shapes import TensorSpec
from manyhands.tf.tensor import tensor
from manyhands.tracebacks import for_the_program

_OFTEN = 5
_run_eagerly = False


class PolymorphicFunction:
    """What `@tf.function` makes of a function."""

    def __init__(
        self, python_function: Callable[..., Any], input_signature: Any = None, **_: Any
    ) -> None:
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._function = Function(python_function)
        self._last_traced: deque[bool] = deque(maxlen=_OFTEN)
        self._warned = False
        functools.update_wrapper(self, python_function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it."""
        with for_the_program:
            return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        if _run_eagerly:
            return self.python_function(*args, **kwargs)
        args, kwargs = plain_everywhere(self._canonical(args, kwargs), argument_for_jax)
        before = self._function.num_traces
        given = self._function(*args, **kwargs)
        self._watch_retracing(self._function.num_traces > before)
        return given

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Make it a method, with traces of its own for each object."""
        if instance is None:
            return self
        held = getattr(instance, "__dict__", {}).setdefault("_manyhands_functions", {})
        bound = held.get(id(self))
        if bound is None:
            method = self.python_function.__get__(instance, owner)
            held[id(self)] = bound = PolymorphicFunction(method, self.input_signature)
        return bound

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """Give the function for arguments like these."""
        specs = args or self.input_signature or ()

        def concrete(*given: Any, **named: Any) -> Any:
            return self(*given, **named)

        concrete.structured_input_signature = (specs, kwargs)  # pyright: ignore[reportFunctionMemberAccess]
        return concrete

    def experimental_get_tracing_count(self) -> int:
        """How often the Python code was run to be traced."""
        return self._function.num_traces

    def _canonical(self, args: Any, kwargs: Any) -> Any:
        try:
            bound = inspect.signature(self.python_function).bind(*args, **kwargs)
        except ValueError:  # no signature to be had
            return args, kwargs
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
        if self.input_signature is not None:
            args = (*map(_checked, args, self.input_signature), *args[len(self.input_signature) :])
        return args, kwargs

    def _watch_retracing(self, traced: bool) -> None:
        self._last_traced.append(traced)
        if not self._warned and self._last_traced.count(True) == _OFTEN:
            self._warned = True
            name = getattr(self.python_function, "__name__", "function")
            warn(
                f"{_OFTEN} out of the last {_OFTEN} calls to {name} triggered tf.function "
                "retracing, which compiles again each time. Pass tensors instead of Python "
                "numbers, keep shapes equal, and make the function once, outside of loops."
            )


def _checked(value: Any, spec: Any) -> Any:
    if not isinstance(spec, TensorSpec):
        return value
    if isinstance(value, list | tuple | int | float):
        value = tensor(value, spec.dtype)

    def one(part: Any) -> Any:
        part = tensor(part) if not isinstance(part, jax.Array) else part
        if part.dtype != on_device(spec.dtype):
            if not isinstance(value, int | float | np.ndarray | list):
                raise TypeError(
                    f"Binding inputs to tf.function failed: expected dtype {spec.dtype!r}, "
                    f"got {part.dtype}."
                )
            part = part.astype(on_device(spec.dtype))
        if not spec.shape.is_compatible_with(part.shape):
            raise TypeError(
                f"Binding inputs to tf.function failed: expected shape {tuple(spec.shape)}, "
                f"got {tuple(part.shape)}."
            )
        return part

    return jax.tree.map(one, value)


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: Any = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: Any = None,
    experimental_compile: Any = None,
    experimental_follow_type_hints: Any = None,
) -> Any:
    """Compile a function; with arguments, make a decorator that does."""
    del autograph, jit_compile, reduce_retracing, experimental_implements
    del experimental_autograph_options, experimental_attributes, experimental_relax_shapes
    del experimental_compile, experimental_follow_type_hints
    if func is None:
        return lambda function: PolymorphicFunction(function, input_signature)
    return PolymorphicFunction(func, input_signature)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run every tf.function as plain Python from now on."""
    global _run_eagerly
    _run_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether tf.functions run as plain Python."""
    return _run_eagerly
