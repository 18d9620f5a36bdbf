"""Find out who else there is, and say why we think so.

In: the environment.  Out: the resolver that fits it, first come first served:
manyhands' own launcher, TF_CONFIG, Kubernetes, Slurm, MPI; otherwise a single process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from manyhands import config
from manyhands.cluster.resolvers import kubernetes, launched, mpi, slurm
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.resolvers.simple import SimpleClusterResolver
from manyhands.cluster.resolvers.tf_config import TFConfigClusterResolver

logger = logging.getLogger(__name__)


def auto(environ: Mapping[str, str] | None = None) -> ClusterResolver:
    """Find the resolver that fits the environment; `why` says what it saw."""
    found = config.environment() if environ is None else environ
    resolver = _found(found)
    logger.info("the cluster was found through %s", resolver.why)
    return resolver


def _found(environ: Mapping[str, str]) -> ClusterResolver:
    if launched.is_here(environ):
        return launched.LaunchedClusterResolver(environ=environ)
    if environ.get("TF_CONFIG", "").strip():
        return TFConfigClusterResolver(environ=environ)
    if kubernetes.is_here(environ):
        return kubernetes.KubernetesClusterResolver(environ=environ)
    if slurm.is_here(environ):
        return slurm.SlurmClusterResolver(environ=environ)
    if mpi.is_here(environ):
        return mpi.MPIClusterResolver(environ=environ)
    if environ.get(launched.NUM_PROCESSES, "1").strip() not in ("", "1"):
        return launched.LaunchedClusterResolver(environ=environ)  # which says what is missing
    alone = SimpleClusterResolver({})
    alone.why = (
        "nothing: none of MANYHANDS_NUM_PROCESSES, TF_CONFIG, SLURM_PROCID with several tasks, "
        "OMPI_COMM_WORLD_RANK or PMI_RANK is set, so this process is alone"
    )
    return alone
