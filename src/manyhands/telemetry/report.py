"""What training a model cost: rows, padding, waiting for input, memory.

In: a model that has been fitted or evaluated under a strategy.  Out: a Report, a plain value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manyhands import keras_bridge
from manyhands.engine import Memory
from manyhands.errors import ScopeError, explain
from manyhands.training import feed_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the last call of fit, evaluate or predict fed, and what a training step takes."""

    num_steps: int
    num_rows: int
    num_padded_rows: int
    waited_for_input_s: float
    kept_on_device_bytes: int
    memory: Memory | None
    narrowed: tuple[str, ...] = ()
    """Gathers and scatters that use 32-bit indices in place of theirs, which XLA cannot split."""

    @property
    def padding(self) -> float:
        """The part of the rows computed that only filled up the last device."""
        return self.num_padded_rows / max(1, self.num_rows + self.num_padded_rows)

    def __str__(self) -> str:
        lines = [
            f"{self.num_steps} steps, {self.num_rows} rows",
            f"{self.num_padded_rows} rows of padding ({self.padding:.1%} of what was computed)",
            f"{self.waited_for_input_s:.3f} s waited for input",
            f"{self.kept_on_device_bytes / 2**20:.1f} MiB of data kept on each device",
        ]
        if self.memory is not None:
            lines.append(f"{self.memory.peak_bytes / 2**20:.1f} MiB at most for one step")
        if self.narrowed:
            lines.append("indices made int32, which XLA can split (the results are the same):")
            lines += [f"  {operation}" for operation in self.narrowed]
        return "\n".join(lines)


def report(model: Any) -> Report:
    """Say what the model's last call cost."""
    counts = feed_counts(model)
    if counts is None:
        raise ScopeError(
            explain(
                "There is nothing to report about this model yet.",
                got=f"model {getattr(model, 'name', model)!r}",
                fix="fit it under a strategy first, then ask for the report.",
            )
        )
    program = getattr(keras_bridge.function_of(model, "train"), "program", None)
    return Report(
        num_steps=counts.num_steps,
        num_rows=counts.num_rows,
        num_padded_rows=counts.num_padded_rows,
        waited_for_input_s=counts.waited_s,
        kept_on_device_bytes=counts.kept_on_device_bytes,
        memory=None if program is None else program.memory(),
        narrowed=() if program is None else tuple(program.narrowed()),
    )
