"""Tensors made from numbers: filled, counted up, marked by indices or lengths."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.tf.dtypes import on_device
from manyhands.tf.known_shapes import as_dims, want_values
from manyhands.tf.tensor import tensor


def zeros(shape: Any, dtype: Any = "float32", name: Any = None) -> Any:
    """A tensor of zeros."""
    del name
    return jnp.zeros(as_dims(shape), on_device(dtype))


def ones(shape: Any, dtype: Any = "float32", name: Any = None) -> Any:
    """A tensor of ones."""
    del name
    return jnp.ones(as_dims(shape), on_device(dtype))


def zeros_like(input: Any, dtype: Any = None, name: Any = None) -> Any:
    """Zeros in the shape of another."""
    del name
    return jnp.zeros_like(tensor(input), None if dtype is None else on_device(dtype))


def ones_like(input: Any, dtype: Any = None, name: Any = None) -> Any:
    """Ones in the shape of another."""
    del name
    return jnp.ones_like(tensor(input), None if dtype is None else on_device(dtype))


def fill(dims: Any, value: Any, name: Any = None) -> Any:
    """A tensor full of one value."""
    del name
    return jnp.full(as_dims(dims), tensor(value))


def eye(
    num_rows: int,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = "float32",
    name: Any = None,
) -> Any:
    """Ones on the diagonal."""
    del name
    found = jnp.eye(num_rows, num_columns, dtype=on_device(dtype))
    return found if batch_shape is None else jnp.broadcast_to(found, (*batch_shape, *found.shape))


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None
) -> Any:
    """Numbers in even steps."""
    del name
    if limit is None:
        start, limit = 0, start
    for bound in (start, limit, delta):
        want_values(bound, "the length of tf.range depends on values")
    bounds = [np.asarray(one).item() for one in (start, limit, delta)]
    found = np.arange(bounds[0], bounds[1], bounds[2])
    if dtype is None:
        dtype = "float32" if found.dtype.kind == "f" else "int32"
    return jnp.asarray(found, on_device(dtype))


def linspace(start: Any, stop: Any, num: int, name: Any = None, axis: int = 0) -> Any:
    """Numbers from here to there."""
    del name
    return jnp.linspace(tensor(start), tensor(stop), int(num), axis=axis)


def meshgrid(*args: Any, indexing: str = "xy", name: Any = None) -> Any:
    """Coordinates of a grid."""
    del name
    return list(jnp.meshgrid(*map(tensor, args), indexing=indexing))


def one_hot(
    indices: Any,
    depth: int,
    on_value: Any = 1,
    off_value: Any = 0,
    axis: int = -1,
    dtype: Any = None,
    name: Any = None,
) -> Any:
    """One where the index says, zero elsewhere."""
    del name
    if dtype is None and isinstance(on_value, int | float) and isinstance(off_value, int | float):
        dtype = "float32"
    hot = jax.nn.one_hot(tensor(indices), int(depth), axis=-1 if axis is None else axis, dtype=bool)
    found = jnp.where(hot, on_value, off_value)
    return found if dtype is None else found.astype(on_device(dtype))


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: Any = None) -> Any:
    """True for as many places as each length says."""
    del name
    lengths = tensor(lengths)
    if maxlen is None:
        want_values(lengths, "tf.sequence_mask without maxlen depends on values")
        maxlen = int(lengths.max())
    return (jnp.arange(int(maxlen)) < lengths[..., None]).astype(on_device(dtype))
