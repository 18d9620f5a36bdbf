"""MultiWorkerMirroredStrategy: every device of every process of a cluster."""

from __future__ import annotations

import enum
import socket
from dataclasses import dataclass
from typing import Any

import jax

from manyhands import config
from manyhands.cluster import ClusterResolver, Group, auto, join
from manyhands.cluster.tls import Tls
from manyhands.devices.choose import local_devices
from manyhands.engine import SpmdEngine, replicated
from manyhands.errors import DeviceError, explain
from manyhands.strategies.distributed_dataset import InputContext
from manyhands.strategies.strategy import Strategy, mirrored_on


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
        if self._group is not None:
            _refuse_shared_gpus(self._group)
        alone = self._group is None
        super().__init__(
            mirrored_on() if alone else SpmdEngine(replicated(_everywhere(), self._group))
        )

    def _input_context(self) -> InputContext:
        if self._group is None:
            return super()._input_context()
        return InputContext(self.layout.num_replicas, self._group.size, self._group.index)

    @property
    def group(self) -> Group | None:
        """The processes that train together; None for a process that is alone."""
        return self._group


def _everywhere() -> list[Any]:
    """List the devices of all processes: those of process 0 first."""
    kind = local_devices()[0].platform
    found = [device for device in jax.devices() if device.platform == kind]
    return sorted(found, key=lambda device: (device.process_index, device.id))


def _refuse_shared_gpus(group: Group) -> None:
    """Say so when two processes would compute together on one GPU, which NCCL cannot."""
    here, visible = local_devices(), config.visible_gpus()
    used = []
    for device in here:
        number = getattr(device, "local_hardware_id", None) or 0
        known = visible is not None and number < len(visible)
        used.append(visible[number] if visible is not None and known else str(number))
    mine = [socket.gethostname(), here[0].platform, used]
    owners: dict[tuple[str, str], int] = {}
    for index, (host, platform, gpus) in enumerate(group.agree("the devices", mine)):
        for gpu in gpus if platform != "cpu" else ():
            other = owners.setdefault((host, gpu), index)
            if other != index:
                members = group.membership.members
                raise DeviceError(
                    explain(
                        "Two processes would train together on one GPU, which NCCL does not take.",
                        got=f"{members[other]} and {members[index]} both use GPU {gpu} of {host}",
                        fix="give each its own: manyhands run --per-gpu, or another "
                        "CUDA_VISIBLE_DEVICES for each process.",
                    )
                )
