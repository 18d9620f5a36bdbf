"""Which process of a group this one is.

In: a cluster spec and this process' task.  Out: a Membership: numbers from 0, names, addresses.
A value: it connects to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from manyhands.cluster.spec import ClusterSpec
from manyhands.errors import ClusterError, explain

_TRAINING_JOBS = ("chief", "master", "worker")
"""The jobs whose tasks train together, in the order of their process numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One process of a group, as messages name it."""

    name: str
    address: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.address})" if self.address else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A process' place in a group that trains together."""

    index: int
    members: tuple[Member, ...]
    coordinator: str
    """Where process 0 is met, host:port."""
    is_evaluator: bool = False
    """Runs beside the group, and joins nothing."""
    why: str = ""
    """What told us."""

    @property
    def size(self) -> int:
        """How many processes train together."""
        return len(self.members)

    @property
    def me(self) -> Member:
        """This process."""
        return self.members[self.index]

    def only(self, present: Sequence[int]) -> Membership:
        """The same without those who never came; process 0 is always there."""
        members = tuple(self.members[index] for index in present)
        return replace(self, index=list(present).index(self.index), members=members)


ALONE = Membership(index=0, members=(Member(name="process 0"),), coordinator="", why="nothing")


def membership_of(
    spec: ClusterSpec, task_type: str | None, task_id: int | None, *, why: str
) -> Membership:
    """Number the tasks that train together: the chief first, then the workers."""
    if task_type == "evaluator":
        return Membership(
            index=0,
            members=(Member(name=f"evaluator {task_id or 0}"),),
            coordinator="",
            is_evaluator=True,
            why=why,
        )
    if not spec:
        return replace(ALONE, why=why)
    refuse_unknown_jobs(spec)
    tasks = [
        (job, index)
        for job in _TRAINING_JOBS
        if job in spec.jobs
        for index in spec.task_indices(job)
    ]
    members = tuple(
        Member(name=f"{job} {index}", address=spec.task_address(job, index)) for job, index in tasks
    )
    if task_type is None and len(members) == 1:
        task_type, task_id = tasks[0]
    if (task_type, task_id or 0) not in tasks:
        raise ClusterError(
            explain(
                "This process' task is not among the cluster's.",
                got=f"task.type = {task_type!r}, task.index = {task_id!r}; the cluster has "
                + (", ".join(member.name for member in members) or "no task that trains"),
                fix="give each process its own task.type and task.index, as in the cluster.",
            )
        )
    return Membership(
        index=tasks.index((task_type, task_id or 0)),  # pyright: ignore[reportArgumentType]
        members=members,
        coordinator=members[0].address,
        why=why,
    )


def refuse_unknown_jobs(spec: ClusterSpec) -> None:
    """Refuse jobs that no strategy of ours runs."""
    for job in spec.jobs:
        if job in (*_TRAINING_JOBS, "evaluator"):
            continue
        fix = 'leave it out, or name its tasks "worker".'
        if job == "ps":
            fix = "leave out the parameter servers: here workers exchange gradients directly."
        raise ClusterError(
            explain("The cluster has a job that is not known.", got=f"cluster.{job}", fix=fix)
        )
