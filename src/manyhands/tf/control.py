"""The functions at the top of tf that steer a program: branches, printing, devices, gradients."""

from __future__ import annotations

import builtins
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from manyhands.devices import resolve
from manyhands.engine.jax_inside import is_eager, is_tracer
from manyhands.engine.tape import Tape
from manyhands.errors import DeviceError, explain
from manyhands.keras_bridge.branches import branch, loop
from manyhands.keras_bridge.function import NeedsValuesError, refuse_in_step
from manyhands.keras_bridge.step_scope import current_step
from manyhands.keras_bridge.variables import outside_of_steps
from manyhands.tf import corners
from manyhands.tf.errors import InvalidArgumentError
from manyhands.tf.tensor import tensor
from manyhands.tf.written import written


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: Any = None) -> Any:
    """Run one of two functions."""
    del name
    return branch(tensor(pred), true_fn, false_fn)


def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: Any = None,
) -> Any:
    """Run the function of the first condition that holds."""
    del exclusive, strict, name
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    otherwise = default if default is not None else pairs.pop()[1]
    for pred, function in reversed(pairs):
        otherwise = lambda p=pred, f=function, o=otherwise: cond(p, f, o)  # noqa: E731
    return otherwise()


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: Any = None) -> Any:
    """Run the function with this number."""
    del name
    functions = (
        dict(branch_fns)
        if not isinstance(branch_fns, list | tuple)
        else dict(enumerate(branch_fns))
    )
    pairs = [(tensor(branch_index) == number, function) for number, function in functions.items()]
    return case(pairs, default or list(functions.values())[-1])


def while_loop(
    cond: Any, body: Any, loop_vars: Any, maximum_iterations: Any = None, name: Any = None, **_: Any
) -> Any:
    """Run a body while a condition holds."""
    del name
    values = tuple(loop_vars)
    if maximum_iterations is None:
        return list(loop(cond, body, values))
    given = loop(
        lambda i, *held: jnp.logical_and(i < maximum_iterations, cond(*held)),
        lambda i, *held: (i + 1, *_tuple(body(*held))),
        (0, *values),
    )
    return list(given[1:])


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def map_fn(
    fn: Any, elems: Any, dtype: Any = None, fn_output_signature: Any = None, **_: Any
) -> Any:
    """Call a function on each row."""
    del dtype, fn_output_signature
    return keras.ops.map(fn, jax.tree.map(tensor, elems))


def vectorized_map(fn: Any, elems: Any, **_: Any) -> Any:
    """Call a function on all rows at once."""
    return jax.vmap(fn)(jax.tree.map(tensor, elems))


def print_(
    *inputs: Any,
    output_stream: Any = None,
    summarize: Any = 3,
    sep: str = " ",
    end: str = "\n",
    name: Any = None,
) -> None:
    """Print values, also from inside a step that is compiled: when it runs, not when traced."""
    del name
    given = jax.tree.map(lambda p: p.value if isinstance(p, keras.Variable) else p, list(inputs))
    leaves, structure = jax.tree.flatten(given)
    held = [is_tracer(leaf) for leaf in leaves]
    most = 3 if summarize is None else int(summarize)

    def show(*known: Any) -> None:
        arrived = iter(known)
        full = [next(arrived) if later else leaf for later, leaf in zip(held, leaves, strict=True)]
        parts = jax.tree.unflatten(structure, full)
        alone = len(parts) == 1 and is_text(parts[0]) and np.ndim(parts[0]) == 0
        words = [_plain(parts[0])] if alone else [_word(part, most) for part in parts]
        builtins.print(*words, sep=sep, end=end, file=_stream(output_stream))

    if any(held) or current_step() is not None:
        jax.debug.callback(show, *[leaf for later, leaf in zip(held, leaves, strict=True) if later])
    else:
        show()


def _plain(words: Any) -> str:
    words = words.item() if isinstance(words, np.ndarray) else words
    return words.decode(errors="replace") if isinstance(words, bytes) else str(words)


def _stream(given: Any) -> Any:
    if isinstance(given, str):
        return {"stdout": sys.stdout}.get(given.split("/")[-1], sys.stderr)
    return sys.stderr if given is None else given


def _word(value: Any, most: int) -> str:
    """Write a value as TensorFlow does: the first and last few of many, nested as it is."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_word(v, most)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(_word(one, most) for one in value) + right
    if not isinstance(value, jax.Array | np.ndarray | np.generic):
        return str(value)
    return written(value, most)


def py_function(
    func: Callable[..., Any] | None = None, inp: Any = (), Tout: Any = None, name: Any = None
) -> Any:
    """Call a Python function on values; a step that does so runs eagerly."""
    del name
    if any(is_tracer(one) for one in jax.tree.leaves(list(inp))) or current_step() is not None:
        raise NeedsValuesError("it calls tf.py_function")
    assert func is not None, "py_function needs a function"
    given = func(*[one if is_text(one) else tensor(one) for one in inp])
    return _typed(given, Tout)


def numpy_function(
    func: Any = None, inp: Any = (), Tout: Any = None, stateful: bool = True, name: Any = None
) -> Any:
    """Call a function of NumPy arrays; a step that does so runs eagerly."""
    del stateful
    return py_function(lambda *given: func(*[np.asarray(one) for one in given]), inp, Tout, name)


def is_text(value: Any) -> bool:
    """Whether a value is text, which is no tensor here."""
    return isinstance(value, str | bytes) or getattr(getattr(value, "dtype", None), "kind", "") in (
        "O",
        "S",
        "U",
    )


def _typed(given: Any, kinds: Any) -> Any:
    if kinds is None or kinds == []:
        return None if kinds == [] else given
    parts = list(given) if isinstance(given, list | tuple) else [given]
    wanted = list(kinds) if isinstance(kinds, list | tuple) else [kinds]
    if len(parts) < len(wanted):
        raise InvalidArgumentError(
            explain(
                "A Python function gave fewer tensors than Tout names.",
                got=f"{len(parts)} of {len(wanted)}",
                fix="return a tuple with a tensor for each dtype of Tout.",
            )
        )
    found = [
        tensor(part, None if is_text(part) else kind)
        for part, kind in zip(parts, wanted, strict=False)  # what is more than Tout is left out
    ]
    return found if isinstance(kinds, list | tuple) else found[0]


def custom_gradient(f: Any = None) -> Any:
    """Give a function its own gradient: `f` returns its result and a function of cotangents.

    A gradient that takes `variables` is given the variables that `f` reads, and returns their
    gradients beside those of the arguments.
    """
    wants_variables: list[bool] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        values = [tensor(arg) for arg in args]
        variables: list[Any] = []
        if not wants_variables or wants_variables[0]:
            tape = Tape()
            tape.begin()
            try:
                _, gradient = f(*values, **kwargs)
            finally:
                tape.end()
            wants_variables[:] = ["variables" in inspect.signature(gradient).parameters]
            variables = tape.read_variables() if wants_variables[0] else []
        return _with_gradient(f, len(values), variables, kwargs)(
            *values, *(variable.value for variable in variables)
        )

    return call


def _with_gradient(f: Any, count: int, variables: list[Any], kwargs: dict[str, Any]) -> Any:
    @jax.custom_vjp
    def run(*given: Any) -> Any:
        return f(*given[:count], **kwargs)[0]

    def forward(*given: Any) -> Any:
        return f(*given[:count], **kwargs)[0], given

    def backward(given: Any, seeds: Any) -> Any:
        _, gradient = f(*given[:count], **kwargs)
        seeds = seeds if isinstance(seeds, list | tuple) else (seeds,)
        found = gradient(*seeds, variables=variables) if variables else gradient(*seeds)
        own, others = found if variables else (found, [])
        own = own if isinstance(own, list | tuple) else [own]
        return tuple(
            jnp.zeros_like(value) if one is None else jnp.asarray(one, value.dtype)
            for one, value in zip([*own, *others], given, strict=True)
        )

    run.defvjp(forward, backward)
    return run


def recompute_grad(f: Any) -> Any:
    """Compute a function again on the way back, to keep less."""
    return jax.checkpoint(f)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None) -> Any:
    """Keep values between bounds."""
    del name
    return corners.clip(tensor(t), clip_value_min, clip_value_max)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
    """Shorten what is longer than the norm."""
    del name
    t = tensor(t)
    squares = jnp.sum(jnp.square(t), axis=axes, keepdims=True)
    length = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), squares)
    return t * clip_norm / jnp.maximum(length, clip_norm)


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None, name: Any = None) -> Any:
    """Shorten several tensors together if they are longer than the norm; give that length, too."""
    from manyhands.tf.linalg import global_norm

    del name
    length = global_norm(t_list) if use_norm is None else tensor(use_norm)
    scale = clip_norm * jnp.minimum(1.0 / length, 1.0 / clip_norm)
    scale = jnp.where(jnp.isfinite(length), scale, jnp.nan)
    clipped = [
        None if one is None else tensor(one) * scale.astype(tensor(one).dtype) for one in t_list
    ]
    return clipped, length


@contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Make new values on this device, where it is there; elsewhere as before."""
    if device_name is None or current_step() is not None:
        yield
        return
    name = device_name() if callable(device_name) else device_name
    try:
        place = resolve([name])[0]
    except DeviceError:
        yield  # TensorFlow, too, falls back to what there is
        return
    with jax.default_device(place):
        yield


def name_scope(name: Any, *_: Any, **__: Any) -> Any:
    """Names are not needed here."""
    del name
    return nullcontext()


def control_dependencies(control_inputs: Any) -> Any:
    """Everything runs in the order it is written."""
    del control_inputs
    return nullcontext()


def init_scope() -> Any:
    """Do what is inside at once, also while a function is traced around it."""
    return outside_of_steps() if current_step() is not None else nullcontext()


def executing_eagerly() -> bool:
    """Whether operations give values at once."""
    return current_step() is None and is_eager()


def no_op(name: Any = None) -> None:
    """Nothing."""
    del name


def group(*inputs: Any, **_: Any) -> None:
    """Nothing: everything in it has run."""
    del inputs


def timestamp(name: Any = None) -> Any:
    """Seconds since 1970."""
    del name
    refuse_in_step("it asks for the time")
    return np.float64(time.time())
