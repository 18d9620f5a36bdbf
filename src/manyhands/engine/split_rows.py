"""One array's rows, split over the devices: what a distributed dataset gives and a step takes.

In: an array and a Layout.  Out: SplitRows, which show the true rows whoever asks.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from manyhands.engine.layout import Layout
from manyhands.engine.placing import is_at, local_view, put, put_own


class SplitRows:
    """Rows of a global batch on the devices: filled up there, so that each holds as many.

    The true number of rows is what anybody sees; `array` has the padding.
    """

    __slots__ = ("_layout", "array", "num_rows")

    def __init__(self, array: Any, num_rows: int, layout: Layout) -> None:
        self.array = array
        self.num_rows = num_rows
        self._layout = layout

    @property
    def pads(self) -> bool:
        """Whether there are rows that only fill up the last device."""
        return self.array.shape[0] != self.num_rows

    @property
    def whole(self) -> Any:
        """The true rows as one array; every process must ask for it, where there are several."""
        array = self.array
        if self._layout.spans_processes:
            everywhere = jax.jit(lambda part: part, out_shardings=self._layout.replicated)
            array = local_view(everywhere(array), self._layout)
        return self._layout.rows.cut(array, self.num_rows) if self.pads else array

    @property
    def values(self) -> tuple[Any, ...]:
        """The true rows of each replica of this process, in the order of the devices."""
        parts = sorted(self.array.addressable_shards, key=lambda shard: shard.index[0].start or 0)
        own = self._layout.rows.own
        counts = self._layout.rows.counts(self.num_rows)[own.start : own.stop]
        return tuple(shard.data[:count] for shard, count in zip(parts, counts, strict=True))

    @property
    def values_everywhere(self) -> tuple[Any, ...]:
        """The true rows of each replica of every process; all of them must ask."""
        if not self._layout.spans_processes:
            return self.values
        whole = self.whole
        return tuple(whole[part] for part in self._layout.rows.parts(self.num_rows))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the true rows."""
        return (self.num_rows, *self.array.shape[1:])

    @property
    def dtype(self) -> Any:
        """The dtype of the rows."""
        return self.array.dtype

    def numpy(self) -> np.ndarray:
        """Copy the true rows to the host."""
        return np.asarray(self.whole)

    def __len__(self) -> int:
        return self.num_rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=bool(copy))

    def __jax_array__(self) -> Any:
        return self.whole

    def __repr__(self) -> str:
        return f"PerReplica({self.num_rows} rows on {len(self.array.sharding.device_set)} devices)"


def split_rows(part: Any, layout: Layout) -> SplitRows:
    """Split one array's rows over the devices."""
    num_rows = part.shape[0]
    if is_at(part, layout.split_rows) and layout.rows.divides(num_rows):
        return SplitRows(part, num_rows, layout)
    return SplitRows(put(layout.rows.spread(part), layout.split_rows), num_rows, layout)


def split_own_rows(part: Any, layout: Layout, num_rows: int) -> SplitRows:
    """Split an array's rows over the devices of all processes, of which these are ours."""
    mine = layout.rows.spread_own(np.asarray(part), num_rows)
    shape = (layout.rows.padded(num_rows), *mine.shape[1:])
    own = layout.rows.own_held(num_rows)
    return SplitRows(put_own(mine, layout.split_rows, shape, own, 0), num_rows, layout)
