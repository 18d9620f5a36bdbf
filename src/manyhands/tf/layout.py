"""The same numbers laid out otherwise: reshaped, joined, cut up, repeated, padded."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from keras import ops

from manyhands.tf.dtypes import on_device
from manyhands.tf.keywords import takes_tensor
from manyhands.tf.known_shapes import as_dims
from manyhands.tf.tensor import tensor


@takes_tensor
def reshape(tensor_: Any, shape: Any, name: Any = None) -> Any:
    """Lay the same numbers out in another shape."""
    del name
    return jnp.reshape(tensor(tensor_), as_dims(shape))


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
    found = jnp.transpose(tensor(a), None if perm is None else as_dims(perm))
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
    return jnp.tile(tensor(input), as_dims(multiples))


def repeat(input: Any, repeats: Any, axis: Any = None, name: Any = None) -> Any:
    """Repeat each element."""
    del name
    counts = np.asarray(repeats) if isinstance(repeats, list | tuple) else repeats
    return jnp.repeat(tensor(input), counts, axis)


def broadcast_to(input: Any, shape: Any, name: Any = None) -> Any:
    """Repeat along dims of one."""
    del name
    return jnp.broadcast_to(tensor(input), as_dims(shape))


@takes_tensor
def reverse(tensor_: Any, axis: Any, name: Any = None) -> Any:
    """Turn dims round."""
    del name
    return jnp.flip(tensor(tensor_), as_dims(axis))


def roll(input: Any, shift: Any, axis: Any, name: Any = None) -> Any:
    """Shift round a dim."""
    del name
    return jnp.roll(tensor(input), shift, axis)


@takes_tensor
def pad(
    tensor_: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: Any = None,
) -> Any:
    """Add around a tensor."""
    del name
    value, width = tensor(tensor_), [tuple(map(int, pair)) for pair in paddings]
    if mode.upper() == "CONSTANT":
        return jnp.pad(value, width, constant_values=constant_values)
    return jnp.pad(
        value, width, mode={"REFLECT": "reflect", "SYMMETRIC": "symmetric"}[mode.upper()]
    )


def identity(input: Any, name: Any = None) -> Any:
    """The same tensor."""
    del name
    return tensor(input)


def stop_gradient(input: Any, name: Any = None) -> Any:
    """The same numbers, which nothing is differentiated through."""
    del name
    return ops.stop_gradient(tensor(input))


def bitcast(input: Any, type: Any, name: Any = None) -> Any:
    """The same bits as another dtype."""
    del name
    return jax.lax.bitcast_convert_type(tensor(input), on_device(type))
