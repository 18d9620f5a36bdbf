"""Rows brought together by the segment they belong to."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from keras import ops

from manyhands.tf.known_shapes import want_values
from manyhands.tf.tensor import tensor


def segment_sum(data: Any, segment_ids: Any, name: Any = None) -> Any:
    """Sum rows by segment."""
    del name
    ids = tensor(segment_ids)
    want_values(ids, "tf.math.segment_sum gives as many rows as there are segments")
    return ops.segment_sum(tensor(data), ids, num_segments=int(ids.max()) + 1)


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: int, name: Any = None) -> Any:
    """Sum rows by segment; those whose segment is negative are left out."""
    del name
    data, ids = tensor(data), tensor(segment_ids)
    rows = data.reshape(-1, *data.shape[ids.ndim :])
    return ops.segment_sum(rows, ids.ravel(), num_segments=int(num_segments))


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: int, name: Any = None) -> Any:
    """The mean of rows by segment; zero where there are none."""
    del name
    data, ids = tensor(data), tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    counts = unsorted_segment_sum(jnp.ones(ids.shape, data.dtype), ids, num_segments)
    return total / jnp.maximum(counts, 1).reshape(-1, *[1] * (total.ndim - 1))
