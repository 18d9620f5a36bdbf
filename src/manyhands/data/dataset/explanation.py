"""What a pipeline does, stage by stage.

In: the last stage.  Out: a value that prints as a table: each stage, how it runs, its length.
"""

from __future__ import annotations

from dataclasses import dataclass

from manyhands.data.dataset.stage import INFINITE, UNKNOWN, Stage

_WORDS = {INFINITE: "infinite", UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage: how the user wrote it, the way it runs, how many elements it gives."""

    stage: str
    way: str
    length: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages of a pipeline, sources first."""

    stages: tuple[StageLine, ...]

    def __str__(self) -> str:
        rows = [("stage", "runs by", "elements")]
        rows += [(s.stage, s.way, _WORDS.get(s.length, f"{s.length:,}")) for s in self.stages]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            f"{stage:<{widths[0]}}  {way:<{widths[1]}}  {length:>{widths[2]}}"
            for stage, way, length in rows
        )

    __repr__ = __str__


def explain_stage(stage: Stage) -> Explanation:
    """Look at each stage; the first rows may be read to see whether a function can be traced."""
    lines = [StageLine(part.title, part.way, part.length()) for part in stage.walk()]
    return Explanation(tuple(lines))
