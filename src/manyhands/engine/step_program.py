"""A traced step, compiled for a placement: Keras' variables go in and come out changed.

In: a TracedStep, a Placement (None: wherever the values are), and the rows of its arrays.
Out: `program(arrays) -> result`, with the variables that the step writes written.
Only what the step writes is used up; what it reads stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from manyhands.engine.batch import pad_rows
from manyhands.engine.jax_inside import is_tracer
from manyhands.engine.keras_inside.variables import set_value, value_of
from manyhands.engine.placement import Placement
from manyhands.engine.placing import is_at, put_whole, unshared
from manyhands.engine.tape import note_read, recording
from manyhands.engine.traced_step import TracedStep


class Rows:
    """Rows of a global batch on the devices: padded there, so that each holds as many.

    The true number of rows is what anybody sees; `array` has the padding.
    """

    __slots__ = ("array", "num_rows")

    def __init__(self, array: Any, num_rows: int) -> None:
        self.array = array
        self.num_rows = num_rows

    @property
    def pads(self) -> bool:
        """Whether there are rows that only fill up the last device."""
        return self.array.shape[0] != self.num_rows

    @property
    def whole(self) -> Any:
        """The true rows as one array."""
        return self.array[: self.num_rows] if self.pads else self.array

    @property
    def values(self) -> tuple[Any, ...]:
        """The true rows of each replica, in the order of the devices."""
        parts = sorted(self.array.addressable_shards, key=lambda shard: shard.index[0].start or 0)
        per_replica = parts[0].data.shape[0]
        counts = [self.num_rows - i * per_replica for i in range(len(parts))]
        return tuple(
            shard.data[: max(0, min(per_replica, count))]
            for shard, count in zip(parts, counts, strict=True)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the true rows."""
        return (self.num_rows, *self.array.shape[1:])

    @property
    def dtype(self) -> Any:
        """The dtype of the rows."""
        return self.array.dtype

    def numpy(self) -> np.ndarray:
        """Copy the true rows to the host."""
        return np.asarray(self.array)[: self.num_rows]

    def __len__(self) -> int:
        return self.num_rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=bool(copy))

    def __jax_array__(self) -> Any:
        return self.whole

    def __repr__(self) -> str:
        return f"PerReplica({self.num_rows} rows on {len(self.array.sharding.device_set)} devices)"


def place_rows(part: Any, placement: Placement) -> Rows:
    """Split one array's rows over the devices."""
    num_rows = part.shape[0]
    if is_at(part, placement.rows):
        return Rows(part, num_rows)
    padded = pad_rows(part, placement.padded(num_rows))
    return Rows(jax.device_put(padded, placement.rows), num_rows)


class StepProgram:
    """One traced step on one placement."""

    def __init__(
        self, traced: TracedStep, placement: Placement | None, num_rows: Sequence[int | None]
    ) -> None:
        self.traced = traced
        self._placement = placement
        self._num_rows = tuple(num_rows)
        split = placement is not None and placement.num_replicas > 1
        self._split = split
        given = (None, placement.whole) if placement is not None else None
        self._compiled = jax.jit(self._run, donate_argnums=0, out_shardings=given)
        self._recorded = jax.jit(self._run, out_shardings=given)
        """For a tape around the call: it may want to go back through what it was given."""

    def __call__(self, arrays: list[Any]) -> Any:
        """Run the step on arrays that are on the devices, and write its variables."""
        traced = self.traced
        state = [value_of(variable) for variable in traced.written]
        read = [value_of(variable) for variable in traced.read]
        if self._placement is None:
            state = unshared([*read, *state])[len(read) :]
        else:
            both = put_whole([*state, *read], self._placement.whole)
            for variable, value in zip(traced.read, both[len(state) :], strict=True):
                set_value(variable, value)
            state, read = both[: len(state)], both[len(state) :]
        if recording():
            for variable, value in zip(
                [*traced.written, *traced.read], [*state, *read], strict=True
            ):
                note_read(variable, value)
        compiled = self._recorded if recording() else self._compiled
        result, state = compiled(state, read, arrays)
        if self._starves(state, arrays):
            jax.block_until_ready((result, state))
        for variable, value in zip(traced.written, state, strict=True):
            set_value(variable, value)
        return result

    def _starves(self, state: list[Any], arrays: list[Any]) -> bool:
        """Whether the next launch must wait for this one.

        XLA's CPU collectives can starve each other of threads when several programs wait.
        """
        part = next((p for p in [*arrays, *state] if isinstance(p, jax.Array)), None)
        if part is None or is_tracer(part):
            return False
        devices = part.sharding.device_set
        return len(devices) > 1 and next(iter(devices)).platform == "cpu"

    def text(self, arrays: list[Any]) -> str:
        """Give the compiled program as XLA prints it."""
        state = [value_of(variable) for variable in self.traced.written]
        read = [value_of(variable) for variable in self.traced.read]
        return self._compiled.lower(state, read, arrays).compile().as_text() or ""

    def _run(self, written: list[Any], read: list[Any], arrays: list[Any]) -> tuple[Any, list[Any]]:
        rows = map(self._true_rows, arrays, self._num_rows)
        result, written = self.traced.pure(written, read, list(rows))
        return jax.tree.map(self._given, result), written

    def _true_rows(self, part: Any, num_rows: int | None) -> Any:
        if num_rows is None or part.shape[0] == num_rows:
            return part
        part = part[:num_rows]
        if not self._split:
            return part
        assert self._placement is not None
        return jax.lax.with_sharding_constraint(part, self._placement.rows)

    def _given(self, part: Any) -> Any:
        """Give rows back split where they divide, whole otherwise (a result cannot be uneven)."""
        if not self._split or not isinstance(part, jax.Array):
            return part
        assert self._placement is not None
        even = part.ndim > 0 and part.shape[0] % self._placement.num_replicas == 0
        wanted = self._placement.rows if even and part.shape[0] else self._placement.whole
        return jax.lax.with_sharding_constraint(part, wanted)
