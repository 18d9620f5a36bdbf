"""What goes where, as plain values. Pure: no JAX, no NumPy, no I/O."""

from manyhands.plan.launches import Turn, cut_turns, steps_per_launch

__all__ = ["Turn", "cut_turns", "steps_per_launch"]
