"""A traced step on a program: Keras' variables go in and come out changed.

In: a TracedStep, an Engine (None: wherever the values are), and the rows of its arrays.
Out: `program(arrays) -> result`, with the variables that the step writes written.
Only what the step writes is used up; what it reads stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from manyhands.engine.anywhere import AnywhereProgram
from manyhands.engine.batch import Batch, BatchSpec
from manyhands.engine.jax_inside import is_tracer
from manyhands.engine.layout import Layout
from manyhands.engine.placing import put_replicated, to_give_away
from manyhands.engine.program import Engine
from manyhands.engine.tape import note_read, recording
from manyhands.keras_bridge.traced_step import TracedStep
from manyhands.keras_bridge.variables import set_value, value_of

_HOLDERS = 2
"""A variable's value is held by the variable and by the list that goes to the program."""


class BoundProgram:
    """One traced step on one engine."""

    def __init__(
        self, traced: TracedStep, engine: Engine | None, num_rows: Sequence[int | None]
    ) -> None:
        self.traced = traced
        self._layout: Layout | None = None if engine is None else engine.layout
        self._program: Any = (
            AnywhereProgram(traced) if engine is None else engine.compile(traced, gives="rows")
        )
        self._spec = BatchSpec(tuple(num_rows), 0)
        self._spans = self._layout is not None and self._layout.spans_processes
        self._waits = self._layout is not None and _starves(self._layout)
        self._has_run = False

    def __call__(self, arrays: list[Any]) -> Any:
        """Run the step on arrays that are on the devices, and write its variables."""
        written, read = self.traced.written, self.traced.read
        values = [value_of(variable) for variable in written]
        donate = not recording()
        if donate:
            values = to_give_away(values, _HOLDERS)
        values += [value_of(variable) for variable in read]
        state = self._program.place_state(values, agree=not self._has_run)
        del values
        self._has_run = True
        if self._layout is not None:
            self._keep(read, state[len(written) :])
        if not donate:
            for variable, value in zip(self.traced.variables, state, strict=True):
                note_read(variable, value)
        batch = Batch(self._spread(arrays) if self._spans else arrays, self._spec)
        result, state = self._program(state, batch, donate=donate)
        if self._waits and not any(map(is_tracer, [*arrays[:1], *state[:1]])):
            jax.block_until_ready((result, state))
        self._keep(written, state[: len(written)])
        return self.traced.rebuilt(result)

    def text(self, arrays: list[Any]) -> str:
        """Give the compiled program as XLA prints it."""
        state = self._program.place_state([value_of(v) for v in self.traced.variables])
        return self._program.text(state, Batch(arrays, self._spec))

    def _keep(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        local = self._program.local
        for variable, value in zip(variables, values, strict=True):
            set_value(variable, local(value))

    def _spread(self, arrays: list[Any]) -> list[Any]:
        """Give arrays that only this process has to all of its devices' programs."""
        assert self._layout is not None, "there are several processes"
        here = [i for i, part in enumerate(arrays) if getattr(part, "is_fully_addressable", True)]
        for i, part in zip(
            here, put_replicated([arrays[i] for i in here], self._layout), strict=True
        ):
            arrays[i] = part
        return arrays


def _starves(layout: Layout) -> bool:
    """Whether the next launch must wait for this one (see `pace`)."""
    return layout.platform == "cpu" and layout.mesh.size > 1
