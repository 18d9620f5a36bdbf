"""One array of a step's state, by name.

A Leaf is what a layout decides by: it says what the array is, never where it lives.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class LeafRole(enum.Enum):
    """What an array is to the training."""

    WEIGHT = "weight"
    SLOT = "slot"
    """What an optimizer keeps for one weight: a momentum, a variance."""
    METRIC = "metric"
    SEED = "seed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a step's state.

    Args:
        path: Keras' path of the variable, such as "sequential/dense/kernel".
        of: for a slot, the path of its weight.
        is_written: whether the step gives it a new value; what it only reads stays where it is.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    role: LeafRole = LeafRole.OTHER
    of: str | None = None
    is_written: bool = True
