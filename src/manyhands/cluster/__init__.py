"""Who else is there: cluster specs, resolvers, and the group that trains together."""

from manyhands.cluster.group import Group
from manyhands.cluster.joining import join, joined
from manyhands.cluster.membership import Member, Membership
from manyhands.cluster.resolvers import (
    ClusterResolver,
    KubernetesClusterResolver,
    LaunchedClusterResolver,
    MPIClusterResolver,
    SimpleClusterResolver,
    SlurmClusterResolver,
    TFConfigClusterResolver,
    auto,
)
from manyhands.cluster.spec import ClusterSpec
from manyhands.cluster.tls import Tls

__all__ = [
    "ClusterResolver",
    "ClusterSpec",
    "Group",
    "KubernetesClusterResolver",
    "LaunchedClusterResolver",
    "MPIClusterResolver",
    "Member",
    "Membership",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "Tls",
    "auto",
    "join",
    "joined",
]
