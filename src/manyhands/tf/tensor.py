"""JAX's arrays, with the few methods that TensorFlow's programs call on tensors.

In: JAX's array classes.  Out: the same, with `.numpy()`, `.get_shape()` and shapes that know
`as_list`.  Installed when `manyhands.tf` is imported, and only then.
A value that is not known yet cannot be a NumPy array: asking for it makes the step run eagerly.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from manyhands.data.plain import native, numbers_of
from manyhands.engine.jax_inside import array_class, is_tracer, tracer_class
from manyhands.engine.split_rows import SplitRows
from manyhands.keras_bridge.function import NeedsValuesError
from manyhands.tf import corners, slices
from manyhands.tf.dtypes import DType, as_dtype, name_of, on_device
from manyhands.tf.shapes import TensorShape

Tensor = jax.Array


def install() -> None:
    """Add the methods, once a process."""
    for kind in (array_class(), tracer_class()):
        if "get_shape" in vars(kind):
            continue
        shape_of = kind.shape.fget  # pyright: ignore[reportAttributeAccessIssue]
        setattr(kind, "shape", property(lambda self, of=shape_of: TensorShape(of(self))))  # noqa: B010
        kind.numpy = _numpy
        kind.eval = _numpy
        kind.get_shape = lambda self: self.shape
        kind.set_shape = lambda *_: None
        kind.assign, kind.assign_add, kind.assign_sub = (
            slices.assign,
            slices.assign_add,
            slices.assign_sub,
        )
        setattr(kind, "__abs__", corners.absolute)  # noqa: B010
        kind.ref = kind.experimental_ref = _reference
        for name in _OPERATORS:
            setattr(kind, name, _takes_lists(getattr(kind, name)))


_OPERATORS = [
    f"__{side}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    for side in ("", "r")
] + ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"]


def _takes_lists(original: Any) -> Any:
    """Let a list stand beside a tensor, as it may in TensorFlow."""

    @functools.wraps(original)
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, list | tuple):
            other = tensor(other)
        return original(self, other)

    return operator


def _numpy(self: Any) -> Any:
    if is_tracer(self):
        raise NeedsValuesError("it calls .numpy()")
    value = np.asarray(self)
    return value if value.ndim else value[()]


class Text(np.ndarray):
    """A tensor of strings; its elements are such tensors, too."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __getitem__(self, index: Any) -> Text:
        return text(np.asarray(self)[index])

    def __iter__(self) -> Any:
        return (self[position] for position in range(len(self)))

    def __eq__(self, other: object) -> Any:
        return False if other is None else _is_same_text(self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else ~_is_same_text(self, other)

    def numpy(self) -> Any:
        """The strings; one alone as itself."""
        value = np.asarray(self)
        return value if value.ndim else value.item()


def text(value: Any) -> Text:
    """Take strings for a tensor of bytes, as TensorFlow does."""
    array = np.asarray(value, dtype=object)
    flat = [one.encode() if isinstance(one, str) else one for one in array.ravel()]
    encoded = np.empty(len(flat), dtype=object)
    encoded[:] = flat
    return encoded.reshape(array.shape).view(Text)


def _is_same_text(one: Any, other: Any) -> jax.Array:
    if not (isinstance(other, str | bytes) or _is_text(other)):
        raise TypeError(f"Cannot convert {other!r} to a tensor of dtype string.")
    return jnp.asarray(np.equal(np.asarray(one), np.asarray(text(other))).astype(bool))


class _Reference:
    """A tensor that can be a key of a dict."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def deref(self) -> Any:
        """Give the tensor back."""
        return self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reference) and self._tensor is other._tensor


def _reference(self: Any) -> _Reference:
    return _Reference(self)


def tensor(value: Any, dtype: Any = None) -> Any:
    """Take anything for a tensor: variables, rows, NumPy arrays, lists and numbers."""
    if isinstance(value, keras.Variable):
        value = value.value
    if isinstance(value, SplitRows):
        value = value.whole
    if isinstance(value, list | tuple) and any(_holds_tensor(part) for part in value):
        value = jnp.stack([tensor(part) for part in value])
    if isinstance(value, np.ndarray):
        value = numbers_of(native(value))
    if isinstance(value, str | bytes) or _is_text(value) or name_of(dtype) == "string":
        return text(value)
    if dtype is not None:
        return jnp.asarray(value, on_device(dtype))
    if isinstance(value, jax.Array):
        return value
    if isinstance(value, bool | int | float | list | tuple):
        value = _by_default(value)
    return jnp.asarray(value)


def _by_default(value: Any) -> np.ndarray:
    """Python's numbers have 32 bits in TensorFlow."""
    array = np.asarray(value)
    if array.dtype == np.float64 and not _holds_numpy(value):
        return array.astype("float32")
    if array.dtype == np.int64 and not _holds_numpy(value):
        return array.astype(np.int32) if np.all(np.abs(array) < 2**31) else array
    return array


def _holds_numpy(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_numpy(part) for part in value[:1])
    return isinstance(value, np.ndarray | np.generic)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_tensor(part) for part in value)
    return isinstance(value, jax.Array | keras.Variable | SplitRows)


def _is_text(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "OSU"
    if isinstance(value, list | tuple) and value:
        return _is_text(value[0]) or isinstance(value[0], str | bytes)
    return False


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor or a variable."""
    return isinstance(value, jax.Array | keras.Variable | SplitRows)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Make a tensor."""
    del name
    made = tensor(value, dtype)
    if shape is None:
        return made
    return jnp.broadcast_to(made, shape) if made.size == 1 else jnp.reshape(made, shape)


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Take a value for a tensor."""
    del dtype_hint, name
    return tensor(value, dtype)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Give the same numbers in another dtype."""
    del name
    return tensor(x).astype(on_device(dtype))


__all__ = [
    "DType",
    "Tensor",
    "as_dtype",
    "cast",
    "constant",
    "convert_to_tensor",
    "install",
    "is_tensor",
    "tensor",
]
