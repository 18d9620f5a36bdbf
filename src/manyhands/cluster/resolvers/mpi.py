"""MPIClusterResolver: the ranks that mpirun started (OpenMPI, MPICH and others with PMI).

In: the variables that mpirun sets.  Out: a cluster of workers, one for each rank.  MPI itself is
not used: ranks only tell who is who.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from manyhands import config
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.spec import ClusterSpec, split_address
from manyhands.errors import ClusterError, explain

_KINDS = {
    "OpenMPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    "PMI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
}
_PORT = 8888


class MPIClusterResolver(ClusterResolver):
    """Reads the variables that mpirun sets for every rank.

    Args:
        coordinator: host:port of rank 0. Found by itself on one machine and under OpenMPI;
            elsewhere pass it, or set MANYHANDS_COORDINATOR.
    """

    def __init__(
        self, coordinator: str | None = None, *, environ: Mapping[str, str] | None = None
    ) -> None:
        found = config.environment() if environ is None else environ
        kind = next((kind for kind in _KINDS if _KINDS[kind][0] in found), None)
        if kind is None:
            raise ClusterError(
                explain(
                    "There are no variables of MPI here.",
                    got="neither OMPI_COMM_WORLD_RANK nor PMI_RANK",
                    fix="start the program with mpirun -n 4 python train.py.",
                )
            )
        rank, size, local = _KINDS[kind]
        self.why = f"{kind}'s variables"
        self.task_type = "worker"
        self.task_id = _number(found, rank)
        self._size = _number(found, size)
        if self.task_id >= self._size:
            raise _unread(rank, found[rank], f"a number below {size} ({self._size})")
        self._coordinator = coordinator or found.get("MANYHANDS_COORDINATOR") or ""
        if not self._coordinator:
            self._coordinator = _guess(found, alone=found.get(local) == found.get(size))
        if split_address(self._coordinator)[1] is None:
            raise _unread("MANYHANDS_COORDINATOR", self._coordinator, "host:port")

    def cluster_spec(self) -> ClusterSpec:
        """One worker for each rank; only rank 0 is ever met by address."""
        others = [f"rank-{rank}:{_PORT}" for rank in range(1, self._size)]
        return ClusterSpec({"worker": [self._coordinator, *others]})


def is_here(environ: Mapping[str, str]) -> bool:
    """Whether mpirun started more than this process."""
    return any(
        rank in environ and environ.get(size, "1") != "1" for rank, size, _ in _KINDS.values()
    )


def _guess(environ: Mapping[str, str], *, alone: bool) -> str:
    if alone:
        return f"127.0.0.1:{_PORT}"
    uri = environ.get("OMPI_MCA_orte_hnp_uri") or environ.get("PRTE_MCA_prte_hnp_uri") or ""
    found = re.search(r"tcp\d?://([0-9.]+)", uri)
    if found is None:
        raise ClusterError(
            explain(
                "Nothing says where rank 0 is.",
                got="ranks on several machines, and no MANYHANDS_COORDINATOR",
                fix="mpirun -x MANYHANDS_COORDINATOR=host-of-rank-0:8888 …",
            )
        )
    return f"{found[1]}:{_PORT}"


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "").strip()
    if not text.isascii() or not text.isdigit():
        raise _unread(name, text, "a whole number")
    return int(text[:9])


def _unread(name: str, text: str, wanted: str) -> ClusterError:
    return ClusterError(
        explain(
            f"The variable {name} cannot be read.",
            got=f"{name} = {text[:200]!r}; {wanted} is needed",
            fix="start the program with mpirun, which sets it.",
        )
    )
