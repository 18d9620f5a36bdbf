"""SlurmClusterResolver: the cluster that Slurm's variables describe.

In: SLURM_* of a job step (`srun`).  Out: a cluster spec and this process' task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from manyhands import config
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.spec import ClusterSpec
from manyhands.errors import ClusterError, explain

_MOST_HOSTS = 100_000


class SlurmClusterResolver(ClusterResolver):
    """Reads the variables that Slurm sets for every task of a job step.

    Args:
        jobs: {"worker": 4} to name the tasks; all are workers when left out.
        port_base: the port of the first task of a host; the next has the next.
        gpus_per_node, gpus_per_task, tasks_per_node, auto_set_gpu: as in TensorFlow; Slurm itself
            gives each task its GPUs here.
    """

    why = "Slurm's variables"

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | list[int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        del gpus_per_node, gpus_per_task, auto_set_gpu
        found = config.environment() if environ is None else environ
        self.rpc_layer = rpc_layer
        self._rank = _number(found, "SLURM_PROCID")
        self._addresses = _addresses(found, port_base, tasks_per_node)
        self._jobs = dict(jobs or {"worker": len(self._addresses)})
        if sum(self._jobs.values()) != len(self._addresses):
            raise ClusterError(
                explain(
                    "The jobs do not add up to Slurm's tasks.",
                    got=f"jobs = {self._jobs}; SLURM_STEP_NUM_TASKS = {len(self._addresses)}",
                    fix="leave `jobs` out, or start as many tasks with srun --ntasks.",
                )
            )
        self.task_type, self.task_id = self._task(self._rank)

    def cluster_spec(self) -> ClusterSpec:
        """Every task of the cluster."""
        left = iter(self._addresses)
        return ClusterSpec(
            {job: [next(left) for _ in range(count)] for job, count in self._jobs.items()}
        )

    def get_task_info(self) -> tuple[str | None, int | None]:
        """This process' job and number."""
        return self.task_type, self.task_id

    def _task(self, rank: int) -> tuple[str, int]:
        for job, count in self._jobs.items():
            if rank < count:
                return job, rank
            rank -= count
        raise ClusterError(
            explain(
                "This task's number is beyond Slurm's number of tasks.",
                got=f"SLURM_PROCID = {self._rank} of {len(self._addresses)}",
                fix="start the program with srun, which numbers its tasks.",
            )
        )


def is_here(environ: Mapping[str, str]) -> bool:
    """Whether this is a task of a Slurm job step with more than one."""
    return "SLURM_PROCID" in environ and _first(environ, *_NUM_TASKS) not in (None, "", "1")


_NUM_TASKS = ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
_HOSTS = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
_PER_NODE = ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")


def _addresses(
    environ: Mapping[str, str], port_base: int, tasks_per_node: int | list[int] | None
) -> list[str]:
    hosts = expand_hosts(_first(environ, *_HOSTS) or "")
    num_tasks = _number(environ, next((n for n in _NUM_TASKS if n in environ), _NUM_TASKS[0]))
    if isinstance(tasks_per_node, int):
        counts = [tasks_per_node] * len(hosts)
    elif tasks_per_node is not None:
        counts = list(tasks_per_node)
    else:
        counts = expand_counts(_first(environ, *_PER_NODE) or str(num_tasks))
    if len(counts) != len(hosts) or sum(counts) != num_tasks:
        raise ClusterError(
            explain(
                "Slurm's variables do not fit together.",
                got=f"hosts {hosts}, tasks on each {counts}, {num_tasks} tasks in all",
                fix="start the program with srun; or pass tasks_per_node=[…], one number a host.",
            )
        )
    return [
        f"{host}:{port_base + place}"
        for host, count in zip(hosts, counts, strict=True)
        for place in range(count)
    ]


def expand_hosts(text: str) -> list[str]:
    """Spell out Slurm's list of hosts: "n[1-3,07],login" is n1, n2, n3, n07, login."""
    hosts: list[str] = []
    for part in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text):
        hosts += _expand(part)
        if len(hosts) > _MOST_HOSTS:
            break
    if not hosts or len(hosts) > _MOST_HOSTS or text.count("[") != text.count("]"):
        raise _unread(_HOSTS[0], text, "a list of hosts such as n[1-3],login")
    return hosts


def _expand(part: str) -> list[str]:
    found = re.search(r"\[([^\[\]]*)\]", part)
    if found is None:
        return [part.strip()]
    hosts = []
    for piece in found[1].split(","):
        first, _, last = piece.strip().partition("-")
        last = last or first
        if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
            raise _unread(_HOSTS[0], part, "numbers inside the brackets")
        if int(last) - int(first) > _MOST_HOSTS:
            raise _unread(_HOSTS[0], part, f"at most {_MOST_HOSTS} hosts")
        for number in range(int(first), int(last) + 1):
            name = f"{part[: found.start()]}{number:0{len(first)}d}{part[found.end() :]}"
            hosts += _expand(name)
    return hosts


def expand_counts(text: str) -> list[int]:
    """Spell out Slurm's numbers of tasks: "2(x3),1" is 2, 2, 2, 1."""
    counts = []
    for piece in text.split(","):
        found = re.fullmatch(r"([0-9]{1,6})(?:\(x([0-9]{1,6})\))?", piece.strip())
        if found is None:
            raise _unread(_PER_NODE[0], text, "numbers such as 2(x3),1")
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def _first(environ: Mapping[str, str], *names: str) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "").strip()
    if not text.isascii() or not text.isdigit():
        raise _unread(name, text, "a whole number, as srun sets it")
    return int(text[:9])


def _unread(name: str, text: str, wanted: str) -> ClusterError:
    return ClusterError(
        explain(
            f"Slurm's variable {name} cannot be read.",
            got=f"{name} = {text[:200]!r}; {wanted} is needed",
            fix="start the program with srun, or describe the cluster in TF_CONFIG.",
        )
    )
