"""Elements picked from a tensor, or put into one: by place, by condition, by order."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.tf.dtypes import on_device
from manyhands.tf.keywords import takes_tensor
from manyhands.tf.known_shapes import as_dims, want_values
from manyhands.tf.tensor import Text, tensor

newaxis = None


def slice(input_: Any, begin: Any, size: Any, name: Any = None) -> Any:
    """Cut a piece out."""
    del name
    value, begin = tensor(input_), as_dims(begin)
    ends = [
        dim if one == -1 else start + one
        for start, one, dim in zip(begin, as_dims(size), value.shape, strict=True)
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
    axis = batch_dims if axis is None else int(axis)
    pick = _in_each(batch_dims, partial(jnp.take, axis=axis - batch_dims))
    return _of_text_too(pick, tensor(params), tensor(indices))


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: Any = None) -> Any:
    """Pick single elements, or slices."""
    del name
    pick = _in_each(batch_dims, lambda values, indices: values[_places(indices)])
    return _of_text_too(pick, tensor(params), tensor(indices))


def _of_text_too(pick: Callable[[Any, Any], Any], values: Any, indices: Any) -> Any:
    """Pick values; of text, which JAX does not know, by the numbers of its elements."""
    if not isinstance(values, Text):
        return pick(values, indices)
    want_values(indices, "text is picked in Python")
    numbers = np.arange(values.size).reshape(values.shape)
    return values.ravel()[np.asarray(pick(jnp.asarray(numbers), indices))]


def _in_each(batch_dims: int, pick: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    for _ in range(batch_dims):
        pick = jax.vmap(pick)
    return pick


def _places(indices: Any) -> tuple[Any, ...]:
    return tuple(jnp.moveaxis(tensor(indices), -1, 0))


def scatter_nd(indices: Any, updates: Any, shape: Any, name: Any = None) -> Any:
    """Add updates into zeros."""
    del name
    updates = tensor(updates)
    return jnp.zeros(as_dims(shape), updates.dtype).at[_places(indices)].add(updates)


@takes_tensor
def tensor_scatter_nd_update(tensor_: Any, indices: Any, updates: Any, name: Any = None) -> Any:
    """Put updates into a copy."""
    del name
    return tensor(tensor_).at[_places(indices)].set(tensor(updates))


@takes_tensor
def tensor_scatter_nd_add(tensor_: Any, indices: Any, updates: Any, name: Any = None) -> Any:
    """Add updates to a copy."""
    del name
    return tensor(tensor_).at[_places(indices)].add(tensor(updates))


def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    """Choose by a condition; with no values to choose from, say where it is true."""
    del name
    condition = tensor(condition)
    if x is None and y is None:
        want_values(condition, "tf.where gives as many places as are true")
        return jnp.argwhere(condition)
    plain = bool | int | float
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return jnp.where(
        condition,
        x if isinstance(x, plain) else tensor(x),
        y if isinstance(y, plain) else tensor(y),
    )


@takes_tensor
def boolean_mask(tensor_: Any, mask: Any, axis: Any = None, name: Any = None) -> Any:
    """Keep what the mask says."""
    del name
    value, mask = tensor(tensor_), tensor(mask)
    want_values(mask, "tf.boolean_mask gives as many rows as the mask keeps")
    index = (_slice(None),) * (axis or 0) + (np.asarray(mask),)
    return value[index]


def unique(x: Any, out_idx: Any = "int32", name: Any = None) -> Any:
    """The values that occur, in order of appearance, and which of them each element is."""
    del name
    x = tensor(x)
    want_values(x, "tf.unique gives as many values as there are")
    found, first, inverse = np.unique(np.asarray(x), return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.argsort(order)
    return jnp.asarray(found[order]), jnp.asarray(places[inverse], on_device(out_idx))


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
