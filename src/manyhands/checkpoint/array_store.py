"""Arrays in a directory, by Orbax.

In: host arrays by key.  Out: the same arrays, bit for bit.
Orbax writes the arrays (Zarr 3 in one OCDBT store, by many threads) and gives them back.  Its own
asynchrony and its finalisation by rename stop at the directory it writes, and cannot cover our
manifest next to it: so both are ours (background.py, disk.py), and Orbax is called in our thread.
It refuses arrays without elements, which have no bytes to store, and it does not know every small
float: those are stored as unsigned integers of the same width.
Orbax takes a second to import, so that happens at the first use.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import ml_dtypes  # noqa: F401  (teaches NumPy the names of bfloat16 and the like)
import numpy as np

if TYPE_CHECKING:
    from manyhands.checkpoint.manifest import ArraySpec


def write_arrays(directory: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays into a directory that does not exist yet."""
    import orbax.checkpoint as ocp

    stored = {_name(key): _as_bits(array) for key, array in arrays.items() if array.size}
    if not stored:
        return
    with _checkpointer() as checkpointer:
        checkpointer.save(directory, args=ocp.args.PyTreeSave(stored))


def read_arrays(directory: Path, specs: dict[str, ArraySpec]) -> dict[str, np.ndarray]:
    """Read the arrays of these keys."""
    arrays = {k: np.zeros(s.shape, s.dtype) for k, s in specs.items() if 0 in s.shape}
    wanted = [key for key in specs if key not in arrays]
    for key, bits in zip(wanted, _read(directory, wanted), strict=True):
        arrays[key] = bits.view(np.dtype(specs[key].dtype))
    return arrays


def _read(directory: Path, keys: list[str]) -> Iterable[np.ndarray]:
    if not keys:
        return []
    import orbax.checkpoint as ocp

    names = [_name(key) for key in keys]
    with _checkpointer() as checkpointer:
        tree = checkpointer.restore(
            directory,
            args=ocp.args.PyTreeRestore(
                item=dict.fromkeys(names, 0),
                restore_args={name: ocp.RestoreArgs(restore_type=np.ndarray) for name in names},
                partial_restore=True,
            ),
        )
    return [np.asarray(tree[name]) for name in names]


def _checkpointer() -> Any:
    """Write and read alone: Orbax would otherwise wait for the other processes of a group."""
    import jax
    import orbax.checkpoint as ocp

    me = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(
        primary_host=me, active_processes={me}, barrier_sync_key_prefix=f"process{me}"
    )
    handler = ocp.PyTreeCheckpointHandler(
        use_ocdbt=True, use_zarr3=True, use_compression=False, multiprocessing_options=alone
    )
    return ocp.Checkpointer(handler, multiprocessing_options=alone)


def _name(key: str) -> str:
    return quote(key, safe="")


def _as_bits(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "V":  # how NumPy sees bfloat16, float8 and int4
        return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return array
