"""What Keras' adapter knows about arrays given to `fit`.

In: the adapter, or the arrays.  Out: how they are cut into batches, and their rows.
"""

from __future__ import annotations

from typing import Any

import keras
from keras.src.trainers.data_adapters import array_slicing
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from manyhands.data.plain import plain


class ArrayRows:
    """What Keras' adapter knows about arrays given to `fit`: how they are cut into batches."""

    def __init__(self, adapter: ArrayDataAdapter) -> None:
        self.num_rows: int = adapter._num_samples
        self.batch_size: int = adapter._batch_size
        self.shuffle: bool | str = adapter._shuffle
        self._inputs = adapter._inputs
        self.refresh()

    def refresh(self) -> None:
        """Look at the arrays again, as Keras does at the start of each pass."""
        self._sliceable = array_slicing.convert_to_sliceable(self._inputs, target_backend="jax")
        self._arrays = self._plain()

    def arrays(self) -> Any | None:
        """Give the data as plain arrays, floats as Keras wants them; None if some are not plain."""
        return self._arrays

    def _plain(self) -> Any | None:
        dense = (array_slicing.NumpySliceable, array_slicing.PandasSliceable)
        if not all(isinstance(p, dense) for p in keras.tree.flatten(self._sliceable) if p):
            return None
        return keras.tree.map_structure(
            lambda part: plain(part.convert_to_jax_compatible(part[:])),
            self._sliceable,
            none_is_leaf=False,
        )

    def pick(self, rows: Any) -> Any:
        """Give a batch of these rows (a slice or row numbers), as Keras' adapter would."""
        return keras.tree.map_structure(
            lambda part: plain(part.convert_to_jax_compatible(part[rows])),
            self._sliceable,
            none_is_leaf=False,
        )


def array_rows(adapter: Any) -> ArrayRows | None:
    """Look into an adapter of arrays; None for any other."""
    return ArrayRows(adapter) if type(adapter) is ArrayDataAdapter else None


def rows_given(x: Any, y: Any, sample_weight: Any) -> list[tuple[str, int]]:
    """List the number of rows of each array given; empty for data that is not arrays."""
    given = {"x": x, "y": y, "sample_weight": sample_weight}
    sizes = []
    for name, value in given.items():
        for part in keras.tree.flatten(value):
            if part is None:
                continue
            if not array_slicing.can_slice_array(part) or not getattr(part, "shape", None):
                return []
            sizes.append((name, int(part.shape[0])))
    return sizes
