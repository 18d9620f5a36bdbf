"""Start several processes, and keep them going."""

from manyhands.cluster.launching.plan import LaunchPlan
from manyhands.cluster.launching.supervisor import Supervisor

__all__ = [
    "LaunchPlan",
    "Supervisor",
]
