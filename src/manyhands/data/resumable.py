"""A feeder whose first pass may be one that an earlier program had begun.

In: a position that was saved, and how many steps of its epoch were done.  Out: both, once each.
"""

from __future__ import annotations

from typing import Any


class Resumable:
    """Remembers where to begin until somebody asks."""

    _resumed: dict[str, Any] | None = None
    _start = (0, 0)

    def resume(self, position: dict[str, Any], step: int) -> None:
        """Let the next pass be the one that was at this position, `step` steps into its epoch."""
        self._resumed = position
        self._start = (step, position["batches"])

    def take_start(self) -> tuple[int, int]:
        """Steps of this epoch, and of this pass, that were done in an earlier program; once."""
        start, self._start = self._start, (0, 0)
        return start

    def _take_position(self) -> dict[str, Any] | None:
        position, self._resumed = self._resumed, None
        return position
