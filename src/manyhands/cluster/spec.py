"""Which tasks make up a cluster, in TensorFlow's words.

In: jobs and the addresses of their tasks.  Out: a ClusterSpec, as `tf.train.ClusterSpec` is.
A value: it connects to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manyhands.errors import ClusterError, explain


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
    text = str(index)
    if isinstance(index, bool) or not text.isascii() or not text.isdigit():
        raise _wrong("A task has a number.", field, index)
    return int(text)


def _address(field: str, address: Any) -> str:
    host, port = split_address(address) if isinstance(address, str) else ("", None)
    if not host or port is None:
        raise _wrong("The address of a task is host:port.", field, address)
    return address


def split_address(address: str) -> tuple[str, int | None]:
    """Split host:port; the port is None where it is missing or none."""
    host, colon, port = address.strip().rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        return address, None
    return host.strip("[]"), int(port)


def _wrong(what: str, field: str, got: Any) -> ClusterError:
    return ClusterError(
        explain(
            what,
            got=f"{field} = {got!r}",
            fix='write {"worker": ["host1:2222", "host2:2222"]}, with "chief" and "evaluator" as '
            "further jobs where there are any.",
        )
    )
