"""Start several processes, and keep them going."""

from manyhands.cluster.launching.plan import LaunchPlan
from manyhands.cluster.launching.supervisor import AGAIN_EXIT, Supervisor, Survival

__all__ = [
    "AGAIN_EXIT",
    "LaunchPlan",
    "Supervisor",
    "Survival",
]
