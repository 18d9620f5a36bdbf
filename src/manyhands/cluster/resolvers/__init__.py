"""Cluster resolvers: who else is there, by whom the environment names."""

from manyhands.cluster.resolvers.found import auto
from manyhands.cluster.resolvers.kubernetes import KubernetesClusterResolver
from manyhands.cluster.resolvers.launched import LaunchedClusterResolver
from manyhands.cluster.resolvers.mpi import MPIClusterResolver
from manyhands.cluster.resolvers.resolver import ClusterResolver
from manyhands.cluster.resolvers.simple import SimpleClusterResolver
from manyhands.cluster.resolvers.slurm import SlurmClusterResolver
from manyhands.cluster.resolvers.tf_config import TFConfigClusterResolver

__all__ = [
    "ClusterResolver",
    "KubernetesClusterResolver",
    "LaunchedClusterResolver",
    "MPIClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "auto",
]
