"""In which order the rows of arrays are read, batch by batch.

In: how many rows, the batch size, the kind of shuffling.  Out: row numbers of any batches.
Draws from NumPy's global generator as Keras does, so that a seeded program reads the same rows in
the same order: a whole pass when its first batch is asked for, or each batch's own order when that
batch is (`shuffle="batch"`).
"""

from __future__ import annotations

from typing import Any

import numpy as np


class RowOrder:
    """One pass over the rows."""

    def __init__(
        self, num_rows: int, batch_size: int, shuffle: bool | str, *, undoable: bool = False
    ) -> None:
        self.num_rows = num_rows
        self.batch_size = batch_size
        self.num_batches = -(-num_rows // batch_size)
        self.num_full = num_rows // batch_size
        self._by_batch = shuffle == "batch"
        draws = bool(shuffle) and not self._by_batch
        undoable = undoable and draws  # or a seed that a thread sets meanwhile would be undone
        self._before = np.random.get_state(legacy=False) if undoable else None
        self._order = np.random.permutation(num_rows) if draws else None
        self._after = np.random.get_state(legacy=False) if undoable else None

    def rows(self, batches: range) -> slice | np.ndarray:
        """Row numbers of these batches, end to end; a slice where they are in order."""
        if self._by_batch:
            return np.concatenate([self._drawn(batch) for batch in batches])
        start, stop = self._span(batches)
        return slice(start, stop) if self._order is None else self._order[start:stop]

    def _drawn(self, batch: int) -> np.ndarray:
        start, stop = self._span(range(batch, batch + 1))
        return np.random.permutation(stop - start) + start

    def _span(self, batches: range) -> tuple[int, int]:
        stop = min(batches.stop * self.batch_size, self.num_rows)
        return batches.start * self.batch_size, stop

    def undraw(self) -> None:
        """Give the drawn numbers back to NumPy's generator, unless others have drawn since."""
        if self._before and _same(np.random.get_state(legacy=False), self._after):
            np.random.set_state(self._before)


def numbered(rows: slice | np.ndarray, num_batches: int) -> np.ndarray:
    """Lay rows out as one line of row numbers a batch."""
    flat = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    return flat.reshape(num_batches, len(flat) // num_batches)


def _same(one: Any, other: Any) -> bool:
    """Compare generator states of any kind: nested dicts of numbers and arrays."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(np.all(np.asarray(one) == np.asarray(other)))
