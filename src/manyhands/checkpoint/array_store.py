"""Arrays in a directory, by TensorStore.

In: host arrays by key.  Out: the same arrays, bit for bit.
The layout is Orbax's: Zarr 3 arrays in one OCDBT store.  Orbax itself cannot be used in a group of
processes: in all but the first its writer passes NumPy arrays by, whoever it is told is the first,
and what it leaves is a checkpoint without values.  Being atomic and asynchronous is ours anyway
(disk.py, background.py), for the manifest beside the arrays must be so together with them.
Arrays without elements have no bytes to store, and TensorStore does not know every small float:
those are stored as unsigned integers of the same width.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import ml_dtypes  # noqa: F401  (teaches NumPy the names of bfloat16 and the like)
import numpy as np

if TYPE_CHECKING:
    from manyhands.checkpoint.manifest import ArraySpec


def write_arrays(directory: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays into a directory that does not exist yet; all are on the disk in the end."""
    import tensorstore as ts

    stored = {key: _as_bits(array) for key, array in arrays.items() if array.size}
    if not stored:
        return
    directory.mkdir()
    together = ts.Context()  # one for all: their bytes go to one file, not to a dozen each
    with ts.Transaction() as all_at_once:
        writes = []
        for key, array in stored.items():
            place = ts.open(
                _spec(directory, key),
                create=True,
                dtype=array.dtype,
                shape=array.shape,
                chunk_layout=ts.ChunkLayout(chunk_shape=array.shape),
                transaction=all_at_once,
                context=together,
            ).result()
            writes.append(place.write(array, can_reference_source_data_indefinitely=True))
        for write in writes:
            write.result()


def read_arrays(directory: Path, specs: dict[str, ArraySpec]) -> dict[str, np.ndarray]:
    """Read the arrays of these keys."""
    import tensorstore as ts

    arrays = {k: np.zeros(s.shape, s.dtype) for k, s in specs.items() if 0 in s.shape}
    wanted = [key for key in specs if key not in arrays]
    together = ts.Context()
    opened = [ts.open(_spec(directory, key), open=True, context=together) for key in wanted]
    reads = [place.result().read() for place in opened]
    for key, read in zip(wanted, reads, strict=True):
        arrays[key] = np.asarray(read.result()).view(np.dtype(specs[key].dtype))
    return arrays


def _spec(directory: Path, key: str) -> dict[str, Any]:
    store = {"driver": "ocdbt", "base": f"file://{quote(str(directory))}/", "path": _name(key)}
    return {"driver": "zarr3", "kvstore": store}


def _name(key: str) -> str:
    return quote(key, safe="") + "/"


def _as_bits(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "V":  # how NumPy sees bfloat16, float8 and int4
        return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return array
