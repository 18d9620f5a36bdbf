"""KubernetesClusterResolver: pods of an indexed Job or a StatefulSet, or pods found by label.

In: the variables of a pod, or Kubernetes' API through its Python client.  Out: workers.
A TFJob of Kubeflow needs none of this: it sets TF_CONFIG.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from manyhands import config
from manyhands.cluster.resolvers.launched import COORDINATOR, NUM_PROCESSES, number, unread
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.spec import ClusterSpec, split_address
from manyhands.errors import ClusterError, explain


class KubernetesClusterResolver(ClusterResolver):
    """Finds the pods that train together.

    With no arguments it reads the pod's variables: JOB_COMPLETION_INDEX (an indexed Job) or the
    number at the end of HOSTNAME (a StatefulSet), MANYHANDS_NUM_PROCESSES, MANYHANDS_COORDINATOR.

    Args:
        job_to_label_mapping: {"worker": ["job-name=train"]} asks Kubernetes for pods by label.
        tf_server_port: the port that pods are met at.
        override_client: a CoreV1Api of the `kubernetes` package, instead of the pod's own.
    """

    why = "the pod's variables"
    environment = ""

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, list[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        found = config.environment() if environ is None else environ
        self.rpc_layer = rpc_layer
        if job_to_label_mapping is None:
            self._spec, self.task_id = _from_variables(found)
            self.task_type = "worker"
        else:
            self.why = "Kubernetes' pods"
            client = override_client or _client()
            self._spec = _from_pods(client, job_to_label_mapping, tf_server_port)
            self.task_type, self.task_id = _own(self._spec, found.get("POD_IP", ""))

    def cluster_spec(self) -> ClusterSpec:
        """Every task of the cluster."""
        return self._spec


def is_here(environ: Mapping[str, str]) -> bool:
    """Whether this is a pod of a group that its variables describe."""
    return "KUBERNETES_SERVICE_HOST" in environ and NUM_PROCESSES in environ


def _from_variables(environ: Mapping[str, str]) -> tuple[ClusterSpec, int]:
    size, index = number(environ, NUM_PROCESSES), _index(environ)
    coordinator = environ.get(COORDINATOR, "").strip()
    if split_address(coordinator)[1] is None:
        raise unread(COORDINATOR, coordinator, "host:port of pod 0")
    if index >= size:
        raise unread("JOB_COMPLETION_INDEX", str(index), f"a number below {NUM_PROCESSES}")
    others = [f"pod-{other}:1" for other in range(1, size)]
    return ClusterSpec({"worker": [coordinator, *others]}), index


def _index(environ: Mapping[str, str]) -> int:
    if environ.get("JOB_COMPLETION_INDEX"):
        return number(environ, "JOB_COMPLETION_INDEX")
    ordinal = re.search(r"-([0-9]{1,6})$", environ.get("HOSTNAME", ""))
    if ordinal is None:
        raise unread(
            "HOSTNAME", environ.get("HOSTNAME", ""), "a pod's name that ends in its number"
        )
    return int(ordinal[1])


def _from_pods(client: Any, labels: Mapping[str, list[str]], port: int) -> ClusterSpec:
    jobs: dict[str, list[str]] = {}
    for job, selectors in labels.items():
        pods = [
            pod
            for selector in selectors
            for pod in client.list_pod_for_all_namespaces(label_selector=selector).items
        ]
        for pod in sorted(pods, key=lambda pod: pod.metadata.name):
            if pod.status.phase != "Running":
                raise ClusterError(
                    explain(
                        "A pod is not running yet.",
                        got=f"{pod.metadata.name} is {pod.status.phase}",
                        fix="wait until every pod runs, or use an indexed Job, whose pods wait "
                        "for each other.",
                    )
                )
            jobs.setdefault(job, []).append(f"{pod.status.pod_ip}:{port}")
    return ClusterSpec(jobs)


def _own(spec: ClusterSpec, pod_ip: str) -> tuple[str | None, int | None]:
    for job in spec.jobs:
        for index in spec.task_indices(job):
            if pod_ip and split_address(spec.task_address(job, index))[0] == pod_ip:
                return job, index
    return None, None


def _client() -> Any:
    try:
        from kubernetes import client, config  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ClusterError(
            explain(
                "Finding pods by label needs Kubernetes' Python client.",
                got="no package named kubernetes",
                fix="pip install kubernetes, or use an indexed Job and pass no labels.",
            )
        ) from None
    config.load_incluster_config()
    return client.CoreV1Api()
