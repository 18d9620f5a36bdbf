"""TFConfigClusterResolver: the cluster that the TF_CONFIG variable describes.

In: TF_CONFIG, JSON.  Out: a cluster spec and this process' task, or a ClusterError that names the
field which makes no sense.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from manyhands import config
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.spec import ClusterSpec
from manyhands.errors import ClusterError, explain

_EXAMPLE = (
    'TF_CONFIG={"cluster": {"worker": ["host1:2222", "host2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


class TFConfigClusterResolver(ClusterResolver):
    """Reads the TF_CONFIG environment variable.

    Args:
        task_type: this process' job, where it is not TF_CONFIG's.
        task_id: this process' number in the job, where it is not TF_CONFIG's.
    """

    why = "TF_CONFIG"

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        found = parse((config.environment() if environ is None else environ).get("TF_CONFIG", ""))
        task = found.get("task", {})
        self._spec = ClusterSpec(found.get("cluster", {}))
        self.task_type = task_type if task_type is not None else task.get("type")
        self.task_id = task_id if task_id is not None else task.get("index")
        self.rpc_layer = rpc_layer if rpc_layer is not None else found.get("rpc_layer", "grpc")
        self.environment = environment if environment is not None else found.get("environment", "")

    def cluster_spec(self) -> ClusterSpec:
        """Every task of the cluster."""
        return self._spec


def parse(text: str) -> dict[str, Any]:
    """Read TF_CONFIG, and check every field that we use."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong("TF_CONFIG is not JSON.", "TF_CONFIG", text, str(error)) from None
    if not isinstance(found, dict):
        raise _wrong("TF_CONFIG is not a JSON object.", "TF_CONFIG", found)
    found = {name: value for name, value in found.items() if value is not None}
    found["cluster"] = _cluster(found.get("cluster", {}))
    found["task"] = _task(found.get("task", {}), required=bool(found["cluster"]))
    for name in ("rpc_layer", "environment"):
        if not isinstance(found.get(name, ""), str):
            raise _wrong(f"{name} is a word.", name, found[name])
    return found


def _cluster(cluster: Any) -> Any:
    if not isinstance(cluster, dict):
        raise _wrong("A cluster is an object of jobs.", "cluster", cluster)
    ClusterSpec(cluster)  # names what is wrong inside
    addresses = [
        at for tasks in ClusterSpec(cluster).jobs_by_index.values() for at in tasks.values()
    ]
    for address in addresses:
        if addresses.count(address) > 1:
            raise _wrong("Two tasks have the same address.", "cluster", address)
    return cluster


def _task(task: Any, *, required: bool) -> dict[str, Any]:
    if not isinstance(task, dict):
        raise _wrong("A task is an object.", "task", task)
    task = {name: value for name, value in task.items() if value is not None}
    if required and "type" not in task:
        raise _wrong("The task has no type.", "task.type", task)
    kind = task.get("type", "")
    if not isinstance(kind, str):
        raise _wrong("The type of a task is a word.", "task.type", kind)
    if required and "index" not in task:
        raise _wrong("The task has no index.", "task.index", task)
    if "index" in task:
        task["index"] = _index(task["index"])
    return task


def _index(index: Any) -> int:
    text = str(index)
    if isinstance(index, bool | float) or not text.isascii() or not text.isdigit():
        raise _wrong("The index of a task is a whole number from 0.", "task.index", index)
    return int(text[:9])


def _wrong(what: str, field: str, got: Any, detail: str = "") -> ClusterError:
    shown = repr(got)
    shown = shown if len(shown) <= 200 else shown[:200] + "…"
    return ClusterError(
        explain(
            what,
            got=f"{field} = {shown}" + (f" ({detail})" if detail else ""),
            fix=f"write it as in {_EXAMPLE}",
        )
    )
