"""The number of replicas, as a number that says where it comes from.

In: how many.  Out: an int; it, or a share made of it, can be recognised where a step uses it.
Inside a step that sees the whole batch there is one replica, and dividing by the number read
outside would shrink the gradient.
"""

from __future__ import annotations


class NumReplicas(int):
    """How many replicas there are, outside of a step."""

    def __rtruediv__(self, other: float) -> Share:
        return Share(other / int(self))


class Share(float):
    """One part in as many as there are replicas."""


def is_of_replicas(value: object) -> bool:
    """Whether a number is, or was divided by, the number of replicas."""
    return isinstance(value, NumReplicas | Share)
