"""Rows that each process has for itself, brought to all of them.

In: a layout that spans processes, this process' rows, and how many each has.  Out: all rows, in
the order of the processes, on every process.  Used at the end of data that does not divide.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding

from manyhands.engine.layout import ROWS, Layout
from manyhands.engine.placing import local_view
from manyhands.engine.row_split import pad_rows


def shares(layout: Layout, num_rows: int) -> list[int]:
    """How many rows of a batch each process would feed."""
    counts: dict[int, int] = {}
    for device, own in zip(layout.devices, layout.rows.counts(num_rows), strict=True):
        counts[device.process_index] = counts.get(device.process_index, 0) + own
    return [counts[process] for process in sorted(counts)]


def everybodys_rows(layout: Layout, batch: Any, counts: list[int]) -> Any:
    """Give every process all rows; each says how many it has."""
    apart = NamedSharding(layout.mesh, PartitionSpec(ROWS))
    owners = [device.process_index for device in layout.devices]
    firsts = [owners.index(process) for process in range(len(counts))]
    everywhere = jax.jit(lambda part: part, out_shardings=layout.replicated)

    def whole(part: Any) -> np.ndarray:
        padded = pad_rows(np.asarray(part), max(counts))
        copies = np.asarray(local_view(everywhere(one_each(padded, layout, apart)), layout))
        rows = [copies[first][:count] for first, count in zip(firsts, counts, strict=True)]
        return np.concatenate(rows).astype(part.dtype, copy=False)

    return jax.tree.map(whole, batch)


def one_each(part: Any, layout: Layout, apart: Sharding) -> Any:
    """Make an array led by the devices out of one that each process has for itself."""
    copies = [jax.device_put(part[None], device) for device in layout.local_devices]
    shape = (len(layout.devices), *np.shape(part))
    return jax.make_array_from_single_device_arrays(shape, apart, copies)
