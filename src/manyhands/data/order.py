"""In which order the rows of arrays are read, batch by batch.

In: how many rows, the batch size, the kind of shuffling.  Out: row numbers of any batches.
Draws from NumPy's global generator exactly as Keras does, so that a seeded program reads the same
rows in the same order.
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
        self._before = np.random.get_state(legacy=False) if undoable and shuffle else None
        self._order = self._draw(shuffle)
        self._after = np.random.get_state(legacy=False) if self._before else None

    def undraw(self) -> None:
        """Give the drawn numbers back to NumPy's generator, unless others have drawn since."""
        if self._before and _same(np.random.get_state(legacy=False), self._after):
            np.random.set_state(self._before)

    def _draw(self, shuffle: bool | str) -> np.ndarray | None:
        if shuffle == "batch":
            starts = range(0, self.num_rows, self.batch_size)
            stops = [min(start + self.batch_size, self.num_rows) for start in starts]
            return np.concatenate(
                [
                    np.random.permutation(stop - start) + start
                    for start, stop in zip(starts, stops, strict=True)
                ]
            )
        return np.random.permutation(self.num_rows) if shuffle else None

    def rows(self, batches: range) -> slice | np.ndarray:
        """Row numbers of these batches, end to end; a slice where they are in order."""
        start = batches.start * self.batch_size
        stop = min(batches.stop * self.batch_size, self.num_rows)
        return slice(start, stop) if self._order is None else self._order[start:stop]

    def numbers(self, batches: range) -> np.ndarray:
        """The same as one line of row numbers a batch."""
        rows = self.rows(batches)
        flat = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        return flat.reshape(len(batches), -1)


def _same(one: Any, other: Any) -> bool:
    here, there = one["state"], other["state"]
    return here["pos"] == there["pos"] and np.array_equal(here["key"], there["key"])
