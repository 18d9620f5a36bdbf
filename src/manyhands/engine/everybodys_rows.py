"""Rows that each process has for itself, brought to all of them.

In: a placement that spans processes, this process' rows, and how many each has.  Out: all rows, in
the order of the processes, on every process.  Used at the end of data that does not divide.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding

from manyhands.engine.batch import pad_rows
from manyhands.engine.placement import Placement
from manyhands.engine.placing import held


def shares(placement: Placement, num_rows: int) -> list[int]:
    """How many rows of a batch each process would feed."""
    per_replica = placement.padded(num_rows) // placement.num_replicas
    counts: dict[int, int] = {}
    for replica, device in enumerate(placement.devices):
        own = max(0, min(per_replica, num_rows - replica * per_replica))
        counts[device.process_index] = counts.get(device.process_index, 0) + own
    return [counts[process] for process in sorted(counts)]


def everybodys_rows(placement: Placement, batch: Any, counts: list[int]) -> Any:
    """Give every process all rows; each says how many it has."""
    apart = NamedSharding(placement.mesh, PartitionSpec("rows"))
    owners = [device.process_index for device in placement.devices]
    firsts = [owners.index(process) for process in range(len(counts))]
    everywhere = jax.jit(lambda part: part, out_shardings=placement.whole)

    def whole(part: Any) -> np.ndarray:
        padded = pad_rows(np.asarray(part), max(counts))
        copies = np.asarray(held(everywhere(one_each(padded, placement, apart)), placement))
        rows = [copies[first][:count] for first, count in zip(firsts, counts, strict=True)]
        return np.concatenate(rows).astype(part.dtype, copy=False)

    return jax.tree.map(whole, batch)


def one_each(part: Any, placement: Placement, apart: Sharding) -> Any:
    """Make an array led by the devices out of one that each process has for itself."""
    copies = [jax.device_put(part[None], device) for device in placement.own_devices]
    shape = (placement.num_replicas, *np.shape(part))
    return jax.make_array_from_single_device_arrays(shape, apart, copies)
