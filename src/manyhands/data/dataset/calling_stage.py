"""What filter, take_while and scan have in common: a function of the user's, and its place."""

from __future__ import annotations

from dataclasses import dataclass

from manyhands.data.dataset.calling import Function
from manyhands.data.dataset.draws import Draws
from manyhands.data.dataset.stage import Stage


@dataclass(eq=False)
class CallingStage(Stage):
    """A stage that calls a function on each element of the one before it, in order."""

    parent: Stage
    function: Function
    draws: Draws | None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"{self.function.stage}({getattr(self.function.call, '__name__', 'function')})"
