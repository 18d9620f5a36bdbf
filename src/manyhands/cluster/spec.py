"""Which tasks make up a cluster, in TensorFlow's words.

In: jobs and the addresses of their tasks.  Out: a ClusterSpec, as `tf.train.ClusterSpec` is.
A value: it connects to nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from manyhands.errors import ClusterError, explain

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_LONGEST_NAME = 254


class ClusterSpec:
    """The addresses of every task of every job.

    Args:
        cluster: {"worker": ["host:port", …]}, or {"worker": {0: "host:port", 2: …}} where tasks
            are missing, or another ClusterSpec.
    """

    def __init__(self, cluster: Any) -> None:
        given = cluster.jobs_by_index if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(given, Mapping):
            raise _wrong("A cluster is a dict of jobs.", "cluster", given)
        self.jobs_by_index = {_job(name): _tasks(name, tasks) for name, tasks in given.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self.jobs_by_index)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self._tasks_of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks."""
        return sorted(self._tasks_of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Where one task listens."""
        tasks = self._tasks_of(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}.")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job in order; None where a task is missing."""
        tasks = self._tasks_of(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, Any]:
        """The cluster as it was given: lists, or dicts where tasks are missing."""
        return {
            job: list(tasks.values())
            if sorted(tasks) == list(range(len(tasks)))
            else {index: tasks[index] for index in sorted(tasks)}
            for job, tasks in self.jobs_by_index.items()
        }

    def _tasks_of(self, job_name: str) -> dict[int, str]:
        if job_name not in self.jobs_by_index:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self.jobs_by_index[job_name]

    def __bool__(self) -> bool:
        return bool(self.jobs_by_index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self.jobs_by_index == other.jobs_by_index

    def __hash__(self) -> int:
        return hash(repr(sorted(self.as_dict().items())))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()})"


def _job(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise _wrong("The name of a job is a word.", "cluster", name)
    return name


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    field = f"cluster.{job}"
    if isinstance(tasks, str):
        tasks = [tasks]
    if isinstance(tasks, Mapping):
        numbered = {_number(field, index): _address(field, at) for index, at in tasks.items()}
        return dict(sorted(numbered.items()))
    if not isinstance(tasks, Sequence):
        raise _wrong("The tasks of a job are a list of addresses.", field, tasks)
    return {i: _address(f"{field}[{i}]", at) for i, at in enumerate(tasks)}


def _number(field: str, index: Any) -> int:
    is_text = isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10
    is_number = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < 10**9
    if not is_text and not is_number:
        raise _wrong("A task has a number.", field, index)
    return int(index)


def _address(field: str, address: Any) -> str:
    host, port = split_address(address) if isinstance(address, str) else ("", None)
    if not host or port is None:
        raise _wrong("The address of a task is host:port.", field, address)
    return address


def split_address(address: str) -> tuple[str, int | None]:
    """Split host:port; the port is None where one of the two is missing or none."""
    host, colon, port = address.strip().rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or len(port.lstrip("0")) > 5:
        return address, None
    in_brackets = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if in_brackets else host
    if not 0 < int(port) < 65536 or not is_host(host, only_ipv6=in_brackets):
        return address, None
    return host, int(port)


def is_host(host: str, *, only_ipv6: bool = False) -> bool:
    """Whether a text can be a host: an IP address, or a name that can be looked up."""
    if ":" in host or only_ipv6:
        return _is_ipv6(host)
    try:
        name = host.encode("idna").decode("ascii")  # what a look-up does; refuses a..b
    except UnicodeError:
        return False
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _shown(got: Any) -> str:
    try:
        shown = repr(got)
    except ValueError:  # a number of thousands of digits
        return f"a very large {type(got).__name__}"
    return shown if len(shown) <= 200 else shown[:200] + "…"


def _wrong(what: str, field: str, got: Any) -> ClusterError:
    return ClusterError(
        explain(
            what,
            got=f"{field} = {_shown(got)}",
            fix='write {"worker": ["host1:2222", "host2:2222"]}, with "chief" and "evaluator" as '
            "further jobs where there are any; a host is a name (at most 63 letters, digits and "
            "hyphens between two dots) or an IP address ([::1]:2222), a port is 1 to 65535.",
        )
    )
