"""Which processes to start on this machine, each with its own environment.

In: what the user asked for.  Out: a LaunchPlan: one environment for each process.
A value: it starts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from manyhands.cluster.resolvers.launched import COORDINATOR, NUM_PROCESSES, PROCESS_INDEX
from manyhands.cluster.spec import split_address
from manyhands.errors import ClusterError, explain

ATTEMPT = "MANYHANDS_ATTEMPT"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """A group of processes, of which some are started here."""

    num_here: int
    num_nodes: int = 1
    node_rank: int = 0
    coordinator: str = ""
    """host:port of process 0; chosen free on this machine when left out."""
    gpus: tuple[str, ...] = ()
    """One for each process here; empty: every process sees them all."""
    memory_fraction: float | None = None
    """The part of its GPU's memory that each process may take."""
    devices: int | None = None
    """Virtual CPU devices of each process."""
    min_processes: int | None = None
    """Go on with fewer where one keeps dying or never comes, but not with fewer than so many."""
    heartbeat_s: int | None = None
    timeout_s: int | None = None
    scheduled: int | None = None
    """The number of the one process here, where a scheduler says who the others are."""

    def __post_init__(self) -> None:
        for option, value, least in (
            ("--processes", self.num_here, 1),
            ("--nodes", self.num_nodes, 1),
            ("--devices", self.devices, 1),
            ("--min-processes", self.min_processes, 1),
            ("--heartbeat", self.heartbeat_s, 1),
            ("--timeout", self.timeout_s, 1),
        ):
            if value is not None and value < least:
                raise _wrong(f"{option} is a number from {least} on.", f"{option} {value}")
        if not 0 <= self.node_rank < self.num_nodes:
            raise _wrong(
                "A node's rank is below the number of nodes.",
                f"--nodes {self.num_nodes} --node-rank {self.node_rank}",
            )
        if self.num_nodes > 1 and not self.coordinator:
            raise _wrong(
                "Several machines need to know where process 0 is.", "--coordinator (not given)"
            )
        if self.coordinator and split_address(self.coordinator)[1] is None:
            raise _wrong("--coordinator is a host and a port.", f"--coordinator {self.coordinator}")
        if self.gpus and len(self.gpus) != self.num_here:
            raise _wrong(
                "There is not one GPU for each process.",
                f"--processes {self.num_here} --per-gpu, and {len(self.gpus)} GPUs here",
            )

    @property
    def num_processes(self) -> int:
        """How many processes there are on all machines."""
        return self.num_here * self.num_nodes

    @property
    def meets_others(self) -> bool:
        """Whether processes that are started elsewhere belong to the group."""
        return self.num_nodes > 1 or self.scheduled is not None

    def index(self, place: int) -> int:
        """The number in the whole group of a process started here."""
        if self.scheduled is not None:
            return self.scheduled
        return self.node_rank * self.num_here + place

    def smaller(self) -> LaunchPlan:
        """The same with one process less."""
        return replace(self, num_here=self.num_here - 1, gpus=self.gpus[:-1])

    def environment(self, place: int, *, coordinator: str, attempt: int) -> dict[str, str]:
        """What one process is told."""
        told = {ATTEMPT: str(attempt), "PYTHONUNBUFFERED": "1"}
        if self.scheduled is None:
            told[COORDINATOR] = coordinator
            told[NUM_PROCESSES] = str(self.num_processes)
            told[PROCESS_INDEX] = str(self.index(place))
        if self.gpus:
            told["CUDA_VISIBLE_DEVICES"] = self.gpus[place]
        if self.memory_fraction is not None:
            told["XLA_CLIENT_MEM_FRACTION"] = f"{self.memory_fraction:.6f}"
        if self.devices is not None:
            told["MANYHANDS_DEVICES"] = str(self.devices)
        if self.min_processes is not None and self.meets_others:
            told["MANYHANDS_MIN_PROCESSES"] = str(self.min_processes)
        if self.heartbeat_s is not None:
            told["MANYHANDS_HEARTBEAT"] = str(self.heartbeat_s)
        if self.timeout_s is not None:
            told["MANYHANDS_TIMEOUT"] = str(self.timeout_s)
        return told


def _wrong(what: str, got: str) -> ClusterError:
    return ClusterError(
        explain(
            what,
            got=got,
            fix="manyhands run --processes 4 train.py; on several machines also --nodes 2 "
            "--node-rank 0 --coordinator host:port on each.",
        )
    )
