"""LaunchedClusterResolver: the group that `manyhands run` started, or that three variables name.

In: MANYHANDS_COORDINATOR, MANYHANDS_NUM_PROCESSES, MANYHANDS_PROCESS_INDEX.  Out: workers.
"""

from __future__ import annotations

from collections.abc import Mapping

from manyhands import config
from manyhands.cluster.membership import Member, Membership
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.spec import ClusterSpec, split_address
from manyhands.errors import ClusterError, explain

COORDINATOR = "MANYHANDS_COORDINATOR"
NUM_PROCESSES = "MANYHANDS_NUM_PROCESSES"
PROCESS_INDEX = "MANYHANDS_PROCESS_INDEX"


class LaunchedClusterResolver(ClusterResolver):
    """Reads the variables that `manyhands run` gives each process it starts."""

    why = "manyhands run"

    def __init__(self, *, environ: Mapping[str, str] | None = None) -> None:
        found = config.environment() if environ is None else environ
        self.task_type = "worker"
        self.task_id = number(found, PROCESS_INDEX)
        self._size = number(found, NUM_PROCESSES)
        self._coordinator = found.get(COORDINATOR, "").strip()
        if split_address(self._coordinator)[1] is None:
            raise unread(COORDINATOR, self._coordinator, "host:port of process 0")
        if self.task_id >= self._size:
            raise unread(PROCESS_INDEX, str(self.task_id), f"a number below {self._size}")

    def cluster_spec(self) -> ClusterSpec:
        """One worker for each process; only process 0 is ever met by address."""
        others = [f"process-{index}:1" for index in range(1, self._size)]
        return ClusterSpec({"worker": [self._coordinator, *others]})

    def membership(self) -> Membership:
        """This process' place, by the numbers that the launcher's output shows."""
        return Membership(
            index=self.task_id or 0,
            members=tuple(Member(name=f"process {index}") for index in range(self._size)),
            coordinator=self._coordinator,
            why=self.why,
        )


def is_here(environ: Mapping[str, str]) -> bool:
    """Whether the variables name this process' place in a group."""
    return PROCESS_INDEX in environ


def number(environ: Mapping[str, str], name: str) -> int:
    """Read a whole number."""
    text = environ.get(name, "").strip()
    if not text.isascii() or not text.isdigit():
        raise unread(name, text, "a whole number")
    return int(text[:9])


def unread(name: str, text: str, wanted: str) -> ClusterError:
    """Say which variable makes no sense."""
    return ClusterError(
        explain(
            f"The variable {name} cannot be read.",
            got=f"{name} = {text[:200]!r}; {wanted} is needed",
            fix=f"set {COORDINATOR}, {NUM_PROCESSES} and {PROCESS_INDEX} for every process, or let "
            "`manyhands run --processes N` do so.",
        )
    )
