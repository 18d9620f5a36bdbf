"""MultiWorkerMirroredStrategy: every device of every process of a cluster."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import jax

from manyhands.cluster import ClusterResolver, Group, auto, join
from manyhands.cluster.jax_service import Tls
from manyhands.devices.choose import local_devices
from manyhands.strategies.distributed_dataset import InputContext
from manyhands.strategies.strategy import Strategy


class CommunicationImplementation(enum.Enum):
    """Who carries gradients between processes; JAX chooses: NCCL for GPUs, Gloo for CPUs."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@dataclass(frozen=True, slots=True)
class CommunicationOptions:
    """How processes talk to each other.

    Args:
        bytes_per_pack: as in TensorFlow; XLA packs gradients by itself.
        timeout_seconds: as in TensorFlow; MANYHANDS_TIMEOUT says how long others are waited for.
        tls: certificates for JAX's coordinator.
    """

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: CommunicationImplementation = CommunicationImplementation.AUTO
    tls: Tls | None = None


class MultiWorkerMirroredStrategy(Strategy):
    """A copy of the model on each device of each process, all trained in step.

    Connects to the other processes when it is made, so make it first thing in the program.

    Args:
        cluster_resolver: who else is there; found by itself when left out (`manyhands run`,
            TF_CONFIG, Kubernetes, Slurm, MPI). Alone, it trains on this process' devices.
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        options = communication_options or CommunicationOptions()
        self.cluster_resolver = cluster_resolver if cluster_resolver is not None else auto()
        self._group = join(self.cluster_resolver.membership(), tls=options.tls)
        super().__init__(_everywhere() if self._group else None)

    def _input_context(self) -> InputContext:
        if self._group is None:
            return super()._input_context()
        return InputContext(self.num_devices, self._group.size, self._group.index)

    @property
    def group(self) -> Group | None:
        """The processes that train together; None for a process that is alone."""
        return self._group


def _everywhere() -> list[Any]:
    """List the devices of all processes: those of process 0 first."""
    kind = local_devices()[0].platform
    found = [device for device in jax.devices() if device.platform == kind]
    return sorted(found, key=lambda device: (device.process_index, device.id))
