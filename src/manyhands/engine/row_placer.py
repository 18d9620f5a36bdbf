"""Rows of a batch, put where a layout wants them.

In: host arrays and a Layout.  Out: Batch, Stack or Picks, on the devices.
What every engine that splits rows over devices feeds from; it never casts, drops or repeats a row.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding

from manyhands.engine.batch import (
    Arrays,
    Batch,
    BatchSpec,
    Picks,
    Stack,
    leaves,
    rebuild,
    rows_of,
)
from manyhands.engine.layout import Layout
from manyhands.engine.placing import put, put_own
from manyhands.engine.upload import upload


class RowPlacer:
    """Puts rows on the devices of one layout."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch this process feeds."""
        return self._layout.rows.share(num_rows)

    def spec(self, arrays: Arrays, num_rows: int | None = None, dim: int = 0) -> BatchSpec:
        """Describe a batch; with `num_rows`, of which these are our share."""
        rows = rows_of(arrays, dim)
        if num_rows is not None:
            rows = tuple(None if count is None else num_rows for count in rows)
        spec = BatchSpec(rows, 0)
        return BatchSpec(rows, self._layout.rows.padded(spec.num_rows))

    def place_batch(self, batch: Arrays, num_rows: int | None = None) -> Batch:
        """Split one step's rows over the devices; with `num_rows`, our share of so many."""
        spec = self.spec(batch, num_rows)
        return Batch(self._put(batch, spec, dim=0, own=num_rows is not None), spec)

    def place_stack(self, stack: Arrays, num_steps: int, num_rows: int | None = None) -> Stack:
        """Split several steps' rows over the devices."""
        spec = self.spec(stack, num_rows, dim=1)
        placed = self._put(stack, spec, dim=1, own=num_rows is not None)
        return Stack(placed, spec, num_steps)

    def place_data(self, data: Arrays) -> Arrays:
        """Copy a data set to every device."""
        return upload(data, self._layout.replicated)

    def place_picks(self, data: Arrays, rows: np.ndarray) -> Picks:
        """Split row numbers over the devices."""
        num_rows = rows.shape[1]
        spec = BatchSpec((num_rows,) * len(leaves(data)), self._layout.rows.padded(num_rows))
        numbers = self._layout.rows.spread(rows.astype(np.int32), dim=1)
        return Picks(data, put(numbers, self._layout.stacked_rows), spec)

    def _put(self, arrays: Arrays, spec: BatchSpec, *, dim: int, own: bool) -> Arrays:
        layout = self._layout
        split = layout.split_rows if dim == 0 else layout.stacked_rows
        if layout.spans_processes:
            placed = [
                self._put_apart(part, split, count, dim=dim, own=own)
                for part, count in zip(leaves(arrays), spec.rows, strict=True)
            ]
            return rebuild(arrays, placed)
        parts, places = [], []
        for part, count in zip(leaves(arrays), spec.rows, strict=True):
            parts.append(part if count is None else layout.rows.spread(part, dim))
            places.append(layout.replicated if count is None else split)
        return rebuild(arrays, jax.device_put(parts, places))

    def _put_apart(
        self, part: Any, split: Sharding, num_rows: int | None, *, dim: int, own: bool
    ) -> Any:
        """Put one array over the devices of several processes."""
        if num_rows is None:
            return put(part, self._layout.replicated)
        rows = self._layout.rows
        if not own:
            return put(rows.spread(part, dim), split)
        mine = rows.spread_own(np.asarray(part), num_rows, dim)
        shape = (*mine.shape[:dim], rows.padded(num_rows), *mine.shape[dim + 1 :])
        return put_own(mine, split, shape, rows.own_held(num_rows), dim)
