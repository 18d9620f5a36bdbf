"""SimpleClusterResolver: a cluster that the program itself spells out."""

from __future__ import annotations

from typing import Any

from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.spec import ClusterSpec


class SimpleClusterResolver(ClusterResolver):
    """A cluster written down in the program.

    Args:
        cluster_spec: a ClusterSpec, or the dict for one.
    """

    why = "SimpleClusterResolver"

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        self._spec = ClusterSpec(cluster_spec)
        self._master = master
        self._accelerators = num_accelerators
        self.task_type = task_type
        self.task_id = task_id
        self.environment = environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Every task of the cluster."""
        return self._spec

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a task; the one given at first where none is asked for."""
        if task_type is None or task_id is None:
            layer = rpc_layer or self.rpc_layer
            return f"{layer}://{self._master}" if layer and self._master else self._master
        return super().master(task_type, task_id, rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: Any = None,
    ) -> dict[str, int]:
        """What was given, or what is here."""
        if self._accelerators is not None:
            return self._accelerators
        return super().num_accelerators(task_type, task_id, config_proto)
