"""Rows dealt out, put together again, and turned round.

In: tensors and where their rows belong.  Out: tensors.  What gives any number of rows needs values:
a step that calls it runs eagerly.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.tf.known_shapes import as_dims, want_values
from manyhands.tf.tensor import tensor


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: Any = None) -> Any:
    """Deal rows out: each to the part whose number it has."""
    del name
    partitions = tensor(partitions)
    want_values(partitions, "tf.dynamic_partition gives parts of any number of rows")
    numbers = np.asarray(partitions)
    return [tensor(data)[numbers == part] for part in range(int(num_partitions))]


def dynamic_stitch(indices: Any, data: Any, name: Any = None) -> Any:
    """Put rows where their indices say; of several for one place the last is taken."""
    del name
    places = [tensor(one) for one in indices]
    for one in places:
        want_values(one, "tf.dynamic_stitch gives as many rows as the greatest index")
    rows = [tensor(one) for one in data]
    count = max((int(one.max()) + 1 for one in places if one.size), default=0)
    shape = rows[0].shape[places[0].ndim :]
    found = jnp.zeros((count, *shape), rows[0].dtype)
    for place, row in zip(places, rows, strict=True):
        found = found.at[place.ravel()].set(row.reshape(-1, *shape))
    return found


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: Any = None
) -> Any:
    """Turn the first so many elements of each row round."""
    del name
    if seq_axis is None:
        raise ValueError("reverse_sequence needs seq_axis, the dim that is turned round.")
    dims = (int(batch_axis or 0), int(seq_axis))
    rows, lengths = jnp.moveaxis(tensor(input), dims, (0, 1)), tensor(seq_lengths)[:, None]
    at = jnp.arange(rows.shape[1])
    turned = jnp.where(at < lengths, lengths - 1 - at, at)
    return jnp.moveaxis(rows[jnp.arange(rows.shape[0])[:, None], turned], (0, 1), dims)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: Any = None,
) -> Any:
    """Cut a piece out; bit n of a mask is about the n-th dim that is named."""
    del var, name
    starts, ends = as_dims(begin), as_dims(end)
    steps = as_dims(strides) if strides is not None else (1,) * len(starts)

    def part(number: int) -> Any:
        bit = 1 << number
        if ellipsis_mask & bit:
            return ...
        if new_axis_mask & bit:
            return None
        if shrink_axis_mask & bit:
            return starts[number]
        first = None if begin_mask & bit else starts[number]
        return slice(first, None if end_mask & bit else ends[number], steps[number])

    return tensor(input_)[tuple(part(number) for number in range(len(starts)))]


def unravel_index(indices: Any, dims: Any, name: Any = None) -> Any:
    """Where the elements with these numbers are, one row a dim."""
    del name
    return jnp.stack(jnp.unravel_index(tensor(indices), as_dims(dims)))
