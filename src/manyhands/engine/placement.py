"""Where the state and the rows of a batch live.

In: the devices of a strategy.  Out: a Placement, whose shardings the engine and the feed use.
A value: it moves nothing by itself.  Where the devices belong to several processes, a program's
arrays span them all, and what Python holds is the copy on its own devices (`here`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from manyhands.devices.choose import JaxDevice


@dataclass(frozen=True)
class Placement:
    """State whole on every device; rows split over them."""

    devices: tuple[JaxDevice, ...]

    @property
    def num_replicas(self) -> int:
        """How many copies of the model there are."""
        return len(self.devices)

    @property
    def platform(self) -> str:
        """The devices' kind: cpu, gpu, tpu."""
        return self.devices[0].platform

    @cached_property
    def own_devices(self) -> tuple[JaxDevice, ...]:
        """The devices that this process drives."""
        return tuple(d for d in self.devices if d.process_index == d.client.process_index())

    @cached_property
    def spans_processes(self) -> bool:
        """Whether some of the devices are another process'."""
        return len(self.own_devices) != len(self.devices)

    @cached_property
    def own_replicas(self) -> range:
        """The numbers of this process' replicas, which follow each other."""
        first = self.devices.index(self.own_devices[0])
        return range(first, first + len(self.own_devices))

    @cached_property
    def mesh(self) -> Mesh:
        """The devices in one row, as JAX wants them."""
        return Mesh(np.array(self.devices), ("rows",))

    @cached_property
    def whole(self) -> Sharding:
        """A full copy on every device: state, and data that is kept on the devices."""
        return self._sharding(PartitionSpec())

    @cached_property
    def here(self) -> Sharding:
        """A full copy on every device of this process: what Python holds between steps."""
        if not self.spans_processes:
            return self.whole
        if len(self.own_devices) == 1:
            return SingleDeviceSharding(self.own_devices[0])
        return NamedSharding(Mesh(np.array(self.own_devices), ("rows",)), PartitionSpec())

    @cached_property
    def rows(self) -> Sharding:
        """Split by the first dim."""
        return self._sharding(PartitionSpec("rows"))

    @cached_property
    def stacked_rows(self) -> Sharding:
        """Split by the second dim; the first counts steps."""
        return self._sharding(PartitionSpec(None, "rows"))

    def padded(self, num_rows: int) -> int:
        """The next multiple of the number of devices, so that every device gets as many rows."""
        return -(-num_rows // self.num_replicas) * self.num_replicas

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch are this process' to feed."""
        per_replica = self.padded(num_rows) // self.num_replicas
        own = self.own_replicas
        return slice(min(own.start * per_replica, num_rows), min(own.stop * per_replica, num_rows))

    def _sharding(self, spec: PartitionSpec) -> Sharding:
        if self.num_replicas == 1:
            return SingleDeviceSharding(self.devices[0])
        return NamedSharding(self.mesh, spec)
