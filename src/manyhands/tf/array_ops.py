"""The tensor functions at the top of tf: shapes, slices, joins, choices."""

from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from keras import ops

from manyhands.engine.function import NeedsValuesError
from manyhands.engine.jax_inside import is_tracer
from manyhands.tf.dtypes import on_device
from manyhands.tf.tensor import tensor

newaxis = None


class ShapeTensor(np.ndarray):
    """A shape as numbers, known while a step is traced."""

    def numpy(self) -> Any:
        """The numbers; one alone as itself."""
        value = np.asarray(self)
        return value if value.ndim else value[()]

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return np.asarray(found).view(ShapeTensor) if isinstance(found, np.generic) else found


def _dims(shape: Any) -> tuple[int, ...]:
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


def reshape(tensor_: Any = None, shape: Any = None, name: Any = None, **given: Any) -> Any:
    """Lay the same numbers out in another shape."""
    del name
    return jnp.reshape(tensor(given.get("tensor", tensor_)), _dims(shape))


def expand_dims(input: Any, axis: int = 0, name: Any = None) -> Any:
    """Add a dim of one."""
    del name
    return jnp.expand_dims(tensor(input), int(axis))


def squeeze(input: Any, axis: Any = None, name: Any = None) -> Any:
    """Drop dims of one."""
    del name
    axis = None if axis is None or axis == [] else axis
    return jnp.squeeze(tensor(input), tuple(axis) if isinstance(axis, list | tuple) else axis)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: Any = None) -> Any:
    """Exchange dims."""
    del name
    found = jnp.transpose(tensor(a), None if perm is None else _dims(perm))
    return jnp.conj(found) if conjugate else found


def concat(values: Any, axis: int, name: Any = None) -> Any:
    """Lay tensors end to end."""
    del name
    return jnp.concatenate([tensor(value) for value in values], int(axis))


def stack(values: Any, axis: int = 0, name: Any = None) -> Any:
    """Lay tensors side by side."""
    del name
    return jnp.stack([tensor(value) for value in values], axis)


def unstack(value: Any, num: Any = None, axis: int = 0, name: Any = None) -> list[Any]:
    """Take a tensor apart along a dim."""
    del name, num
    return list(jnp.moveaxis(tensor(value), axis, 0))


def split(
    value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None, name: Any = None
) -> list[Any]:
    """Cut a tensor into pieces."""
    del name, num
    value = tensor(value)
    if np.ndim(num_or_size_splits) == 0:
        return list(jnp.split(value, int(num_or_size_splits), axis))
    sizes = [int(one) for one in num_or_size_splits]
    if -1 in sizes:
        sizes[sizes.index(-1)] = value.shape[axis] - sum(one for one in sizes if one >= 0)
    return list(jnp.split(value, np.cumsum(sizes)[:-1].tolist(), axis))


def tile(input: Any, multiples: Any, name: Any = None) -> Any:
    """Repeat a tensor along its dims."""
    del name
    return jnp.tile(tensor(input), _dims(multiples))


def repeat(input: Any, repeats: Any, axis: Any = None, name: Any = None) -> Any:
    """Repeat each element."""
    del name
    return jnp.repeat(tensor(input), repeats, axis)


def reverse(tensor_: Any = None, axis: Any = (0,), name: Any = None, **given: Any) -> Any:
    """Turn dims round."""
    del name
    return jnp.flip(tensor(given.get("tensor", tensor_)), _dims(axis))


def roll(input: Any, shift: Any, axis: Any, name: Any = None) -> Any:
    """Shift round a dim."""
    del name
    return jnp.roll(tensor(input), shift, axis)


def pad(
    tensor_: Any = None,
    paddings: Any = None,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: Any = None,
    **given: Any,
) -> Any:
    """Add around a tensor."""
    del name
    value, width = (
        tensor(given.get("tensor", tensor_)),
        [tuple(map(int, pair)) for pair in paddings],
    )
    if mode.upper() == "CONSTANT":
        return jnp.pad(value, width, constant_values=constant_values)
    return jnp.pad(
        value, width, mode={"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[mode.upper()]
    )


def slice(input_: Any, begin: Any, size: Any, name: Any = None) -> Any:
    """Cut a piece out."""
    del name
    value, begin = tensor(input_), _dims(begin)
    ends = [
        dim if one == -1 else start + one
        for start, one, dim in zip(begin, _dims(size), value.shape, strict=True)
    ]
    return value[tuple(map(_slice, begin, ends))]


_slice = builtins.slice


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: Any = None,
) -> Any:
    """Pick along a dim."""
    del name, validate_indices
    params, indices = tensor(params), tensor(indices)
    axis = batch_dims if axis is None else int(axis)
    picked = lambda values, where: jnp.take(values, where, axis=axis - batch_dims)  # noqa: E731
    for _ in _range(batch_dims):
        picked = jax.vmap(picked)
    return picked(params, indices)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: Any = None) -> Any:
    """Pick single elements, or slices."""
    del name
    picked = lambda values, where: values[tuple(jnp.moveaxis(where, -1, 0))]  # noqa: E731
    for _ in _range(batch_dims):
        picked = jax.vmap(picked)
    return picked(tensor(params), tensor(indices))


def scatter_nd(indices: Any, updates: Any, shape: Any, name: Any = None) -> Any:
    """Add updates into zeros."""
    del name
    updates = tensor(updates)
    where = tuple(jnp.moveaxis(tensor(indices), -1, 0))
    return jnp.zeros(_dims(shape), updates.dtype).at[where].add(updates)


def tensor_scatter_nd_update(tensor_: Any, indices: Any, updates: Any, name: Any = None) -> Any:
    """Put updates into a copy."""
    del name
    return tensor(tensor_).at[tuple(jnp.moveaxis(tensor(indices), -1, 0))].set(tensor(updates))


def tensor_scatter_nd_add(tensor_: Any, indices: Any, updates: Any, name: Any = None) -> Any:
    """Add updates to a copy."""
    del name
    return tensor(tensor_).at[tuple(jnp.moveaxis(tensor(indices), -1, 0))].add(tensor(updates))


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


def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    """Choose by a condition; with no values to choose from, say where it is true."""
    del name
    condition = tensor(condition)
    if x is None and y is None:
        _want_values(condition, "tf.where gives as many places as are true")
        return jnp.argwhere(condition)
    plain = bool | int | float
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return jnp.where(
        condition,
        x if isinstance(x, plain) else tensor(x),
        y if isinstance(y, plain) else tensor(y),
    )


def boolean_mask(
    tensor_: Any = None, mask: Any = None, axis: Any = None, name: Any = None, **given: Any
) -> Any:
    """Keep what the mask says."""
    del name
    value, mask = tensor(given.get("tensor", tensor_)), tensor(mask)
    _want_values(mask, "tf.boolean_mask gives as many rows as the mask keeps")
    index = (_slice(None),) * (axis or 0) + (np.asarray(mask),)
    return value[index]


def unique(x: Any, out_idx: Any = "int32", name: Any = None) -> Any:
    """The values that occur, in order of appearance, and which of them each element is."""
    del name
    x = tensor(x)
    _want_values(x, "tf.unique gives as many values as there are")
    found, first, inverse = np.unique(np.asarray(x), return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.argsort(order)
    return jnp.asarray(found[order]), jnp.asarray(places[inverse], on_device(out_idx))


def _want_values(value: Any, why: str) -> None:
    if is_tracer(value):
        raise NeedsValuesError(why)


def zeros(shape: Any, dtype: Any = "float32", name: Any = None) -> Any:
    """A tensor of zeros."""
    del name
    return jnp.zeros(_dims(shape), on_device(dtype))


def ones(shape: Any, dtype: Any = "float32", name: Any = None) -> Any:
    """A tensor of ones."""
    del name
    return jnp.ones(_dims(shape), on_device(dtype))


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
    return jnp.full(_dims(dims), tensor(value))


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


_range = builtins.range


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None
) -> Any:
    """Numbers in even steps."""
    del name
    if limit is None:
        start, limit = 0, start
    for bound in (start, limit, delta):
        _want_values(bound, "the length of tf.range depends on values")
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


def broadcast_to(input: Any, shape: Any, name: Any = None) -> Any:
    """Repeat along dims of one."""
    del name
    return jnp.broadcast_to(tensor(input), _dims(shape))


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: Any = None) -> Any:
    """True for as many places as each length says."""
    del name
    lengths = tensor(lengths)
    if maxlen is None:
        _want_values(lengths, "tf.sequence_mask without maxlen depends on values")
        maxlen = int(lengths.max())
    return (jnp.arange(int(maxlen)) < lengths[..., None]).astype(on_device(dtype))


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: Any = None) -> Any:
    """Put values in order."""
    del name
    return jnp.sort(tensor(values), axis=axis, descending=direction == "DESCENDING")


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: Any = None,
) -> Any:
    """Where the values in order come from."""
    del name, stable
    return jnp.argsort(tensor(values), axis=axis, descending=direction == "DESCENDING")


def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = "int32", name: Any = None
) -> Any:
    """Where values would be put to keep the order."""
    del name
    found = jnp.searchsorted(tensor(sorted_sequence), tensor(values), side=side)
    return found.astype(on_device(out_type))


def identity(input: Any, name: Any = None) -> Any:
    """The same tensor."""
    del name
    return tensor(input)


def stop_gradient(input: Any, name: Any = None) -> Any:
    """The same numbers, which nothing is differentiated through."""
    del name
    return ops.stop_gradient(tensor(input))


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


def bitcast(input: Any, type: Any, name: Any = None) -> Any:
    """The same bits as another dtype."""
    del name
    return jax.lax.bitcast_convert_type(tensor(input), on_device(type))
