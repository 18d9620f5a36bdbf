"""Where the state and the rows of a batch live, as a value.

In: devices, who shares their rows, and the other processes.  Out: a Layout, whose shardings engines
and feeds use; it moves nothing by itself.
Where the devices belong to several processes, a program's arrays span them all, and what Python
holds between steps is the local copy of what is replicated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from manyhands.cluster import Group
from manyhands.devices.choose import JaxDevice
from manyhands.engine.leaf import Leaf
from manyhands.engine.row_split import RowSplit

ROWS = "rows"
"""The mesh axis that rows are split over."""


def everywhere(leaf: Leaf) -> PartitionSpec:
    """Keep a full copy of every leaf on every device."""
    del leaf
    return PartitionSpec()


@dataclass(frozen=True)
class Layout:
    """Where things live.

    Args:
        mesh: the devices, along one or more named axes; rows are split over the axis "rows".
        rows: who has which rows of a batch.
        group: the processes that train together; None for one that is alone.
        spec_of: how each leaf of a state is split over the mesh's axes.
    """

    mesh: Mesh
    rows: RowSplit
    group: Group | None = None
    spec_of: Callable[[Leaf], PartitionSpec] = everywhere

    @property
    def num_replicas(self) -> int:
        """How many replicas of the model share a batch."""
        return self.rows.num_replicas

    @cached_property
    def devices(self) -> tuple[JaxDevice, ...]:
        """All devices, in the order of the mesh."""
        return tuple(self.mesh.devices.flat)

    @cached_property
    def platform(self) -> str:
        """The devices' kind: cpu, gpu, tpu."""
        return self.devices[0].platform

    @cached_property
    def local_devices(self) -> tuple[JaxDevice, ...]:
        """The devices that this process drives."""
        return local(self.devices)

    @cached_property
    def spans_processes(self) -> bool:
        """Whether some of the devices are another process'."""
        return len(self.local_devices) != len(self.devices)

    # where

    def place_of(self, leaf: Leaf) -> Sharding:
        """Where one array of a state lives."""
        spec = self.spec_of(leaf)
        return self.replicated if not any(spec) else self._sharding(spec)

    @cached_property
    def replicated(self) -> Sharding:
        """A full copy on every device."""
        return self._sharding(PartitionSpec())

    @cached_property
    def local_copies(self) -> Sharding:
        """A full copy on every device of this process: what Python holds between steps."""
        if not self.spans_processes:
            return self.replicated
        if len(self.local_devices) == 1:
            return SingleDeviceSharding(self.local_devices[0])
        return NamedSharding(Mesh(np.array(self.local_devices), (ROWS,)), PartitionSpec())

    @cached_property
    def split_rows(self) -> Sharding:
        """Split by the first dim."""
        return self._sharding(PartitionSpec(ROWS))

    @cached_property
    def stacked_rows(self) -> Sharding:
        """Split by the second dim; the first counts steps."""
        return self._sharding(PartitionSpec(None, ROWS))

    def _sharding(self, spec: PartitionSpec) -> Sharding:
        if self.mesh.size == 1:
            return SingleDeviceSharding(self.devices[0])
        return NamedSharding(self.mesh, spec)


def replicated(devices: Sequence[JaxDevice], group: Group | None = None) -> Layout:
    """Keep the state on each device, and split rows evenly."""
    devices = tuple(devices)
    own = local(devices)
    first = devices.index(own[0])
    rows = RowSplit.even(len(devices), range(first, first + len(own)))
    return Layout(Mesh(np.array(devices), (ROWS,)), rows, group)


def local(devices: Sequence[JaxDevice]) -> tuple[JaxDevice, ...]:
    """List the devices that this process drives."""
    return tuple(d for d in devices if d.process_index == d.client.process_index())
