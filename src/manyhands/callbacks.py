"""Callbacks for `fit`."""

from manyhands.checkpoint.resume import Resume

__all__ = ["Resume"]
