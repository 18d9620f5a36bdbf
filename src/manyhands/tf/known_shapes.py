"""Shapes as numbers, known while a step is traced.

In: tensors, or shapes however they are written.  Out: numbers and tuples, never traced values.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from manyhands.engine.jax_inside import is_tracer
from manyhands.keras_bridge.function import NeedsValuesError
from manyhands.tf.dtypes import on_device
from manyhands.tf.tensor import tensor


class ShapeTensor(np.ndarray):
    """A shape as numbers, known while a step is traced."""

    def numpy(self) -> Any:
        """The numbers; one alone as itself."""
        value = np.asarray(self)
        return value if value.ndim else value[()]

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return np.asarray(found).view(ShapeTensor) if isinstance(found, np.generic) else found


def as_dims(shape: Any) -> tuple[int, ...]:
    """Take a shape, or one dim, for numbers."""
    if isinstance(shape, int | np.integer):
        return (int(shape),)
    if is_tracer(shape):
        raise NeedsValuesError("a shape depends on values")
    return tuple(_dim(dim) for dim in shape)


def _dim(dim: Any) -> Any:
    """Take a dim for a number; one that only Keras' shape inference knows stays what it is."""
    if dim is None:
        return -1
    if is_tracer(dim):
        raise NeedsValuesError("a shape depends on values")
    return int(dim) if isinstance(dim, int | np.integer | np.ndarray | jax.Array) else dim


def want_values(value: Any, why: str) -> None:
    """Have the step run eagerly where a value is not known yet."""
    if is_tracer(value):
        raise NeedsValuesError(why)


def shape(input: Any, out_type: Any = "int32", name: Any = None) -> Any:
    """The shape, as numbers."""
    del name
    dims = tensor(input).shape
    known = all(isinstance(dim, int) for dim in dims)
    return np.asarray(dims, on_device(out_type) if known else object).view(ShapeTensor)


def shape_n(inputs: Any, out_type: Any = "int32", name: Any = None) -> Any:
    """The shapes of several tensors."""
    del name
    return [shape(one, out_type) for one in inputs]


def rank(input: Any, name: Any = None) -> Any:
    """How many dims."""
    del name
    return np.asarray(tensor(input).ndim, "int32").view(ShapeTensor)


def size(input: Any, out_type: Any = "int32", name: Any = None) -> Any:
    """How many numbers."""
    del name
    return np.asarray(tensor(input).size, on_device(out_type)).view(ShapeTensor)


def ensure_shape(x: Any, shape: Any, name: Any = None) -> Any:
    """Check a shape."""
    del name
    x = tensor(x)
    wanted = tuple(shape)
    fits = len(wanted) == x.ndim and all(
        a in (None, -1) or a == b for a, b in zip(wanted, x.shape, strict=True)
    )
    if not fits:
        raise ValueError(
            f"Shape of tensor {tuple(x.shape)} is not compatible with expected shape {wanted}."
        )
    return x
