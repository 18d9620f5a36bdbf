"""What goes where, as plain values. Pure: no JAX, no NumPy, no I/O."""

from manyhands.plan.launches import Turn, cut_turns, meeting, steps_per_launch, steps_unrolled

__all__ = ["Turn", "cut_turns", "meeting", "steps_per_launch", "steps_unrolled"]
