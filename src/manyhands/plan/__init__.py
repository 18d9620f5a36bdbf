"""What goes where, as plain values. Pure: no JAX, no NumPy, no I/O."""

from manyhands.plan.launches import Turn, cut_turns, meeting, steps_per_launch, steps_unrolled
from manyhands.plan.sums import joins_sums

__all__ = ["Turn", "cut_turns", "joins_sums", "meeting", "steps_per_launch", "steps_unrolled"]
