"""What every cluster resolver answers, in TensorFlow's words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from manyhands import config
from manyhands.cluster.membership import Membership, membership_of
from manyhands.cluster.spec import ClusterSpec
from manyhands.devices import nvml
from manyhands.devices.choose import local_devices


class ClusterResolver(ABC):
    """Tells which tasks there are, and which of them this process is."""

    rpc_layer: str | None = "grpc"
    environment: str = ""
    task_type: str | None = None
    task_id: int | None = None
    why: str = "a cluster resolver"
    """What it looked at, for people to read."""

    @abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Every task of the cluster."""

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a task, with the protocol in front; "" for a single process."""
        spec = self.cluster_spec()
        kind = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        if not spec or kind is None or index is None:
            return ""
        layer = rpc_layer if rpc_layer is not None else self.rpc_layer
        address = spec.task_address(kind, index)
        return f"{layer}://{address}" if layer else address

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict[str, int]:
        """How many GPUs this process has: {"GPU": 2}; {} where there is none."""
        del task_type, task_id, config_proto
        count = len(local_devices("gpu")) if config.has_started() else _gpus_to_come()
        return {"GPU": count} if count else {}

    def get_task_type(self) -> str | None:
        """The job of this process."""
        return self.task_type

    def get_task_id(self) -> int | None:
        """The number of this process in its job."""
        return self.task_id

    def membership(self) -> Membership:
        """This process' place among those that train together."""
        return membership_of(self.cluster_spec(), self.task_type, self.task_id, why=self.why)


def _gpus_to_come() -> int:
    """Count the GPUs without starting JAX, which has to join its group first."""
    return len(nvml.read(config.visible_gpus()).gpus) if config.jax_may_use_gpus() else 0
