"""A traced step, compiled for a placement: Keras' variables go in and come out changed.

In: a TracedStep, a Placement (None: wherever the values are), and the rows of its arrays.
Out: `program(arrays) -> result`, with the variables that the step writes written.
Only what the step writes is used up; what it reads stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np

from manyhands.engine.agreement import Agreement, agreement_on
from manyhands.engine.batch import pad_rows
from manyhands.engine.jax_inside import is_tracer
from manyhands.engine.joint_sums import with_joint_sums
from manyhands.engine.keras_inside.variables import set_value, value_of
from manyhands.engine.narrow_indices import with_narrow_indices
from manyhands.engine.placement import Placement
from manyhands.engine.placing import held, is_at, put, put_own, put_whole, to_give_away, unshared
from manyhands.engine.tape import note_read, recording
from manyhands.engine.traced_step import TracedStep

_HOLDERS = 2
"""A variable's value is held by the variable and by the list that goes to the program."""


class Rows:
    """Rows of a global batch on the devices: padded there, so that each holds as many.

    The true number of rows is what anybody sees; `array` has the padding.
    """

    __slots__ = ("_placement", "array", "num_rows")

    def __init__(self, array: Any, num_rows: int, placement: Placement) -> None:
        self.array = array
        self.num_rows = num_rows
        self._placement = placement

    @property
    def pads(self) -> bool:
        """Whether there are rows that only fill up the last device."""
        return self.array.shape[0] != self.num_rows

    @property
    def whole(self) -> Any:
        """The true rows as one array; every process must ask for it, where there are several."""
        array = self.array
        if self._placement.spans_processes:
            everywhere = jax.jit(lambda part: part, out_shardings=self._placement.whole)
            array = held(everywhere(array), self._placement)
        return array[: self.num_rows] if self.pads else array

    @property
    def values(self) -> tuple[Any, ...]:
        """The true rows of each replica of this process, in the order of the devices."""
        parts = sorted(self.array.addressable_shards, key=lambda shard: shard.index[0].start or 0)
        return tuple(
            shard.data[: max(0, min(len(shard.data), self.num_rows - (shard.index[0].start or 0)))]
            for shard in parts
        )

    @property
    def values_everywhere(self) -> tuple[Any, ...]:
        """The true rows of each replica of every process; all of them must ask."""
        if not self._placement.spans_processes:
            return self.values
        whole, per_replica = self.whole, self.array.shape[0] // self._placement.num_replicas
        starts = range(0, self.array.shape[0], per_replica)
        return tuple(whole[start : min(start + per_replica, self.num_rows)] for start in starts)

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
        return np.asarray(self.whole)

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
        return Rows(part, num_rows, placement)
    padded = pad_rows(part, placement.padded(num_rows))
    return Rows(put(padded, placement.rows), num_rows, placement)


def place_own_rows(part: Any, placement: Placement, num_rows: int) -> Rows:
    """Split an array's rows over the devices of all processes, of which these are ours."""
    padded = placement.padded(num_rows)
    share = placement.share(padded)
    mine = pad_rows(np.asarray(part), share.stop - share.start)
    shape = (padded, *mine.shape[1:])
    return Rows(put_own(mine, placement.rows, shape, share, 0), num_rows, placement)


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
        self._agreement = agreement_on(placement)
        self._agreed = ""
        """What the processes call this program, once they have agreed on it."""
        self._num_runs = 0
        given = (None, placement.whole) if placement is not None else None
        self._compiled = jax.jit(self._run_joined, donate_argnums=0, out_shardings=given)
        self._recorded = jax.jit(self._run_narrow, out_shardings=given)
        """For a tape around the call: it may want to go back through what it was given."""

    def __call__(self, arrays: list[Any]) -> Any:
        """Run the step on arrays that are on the devices, and write its variables."""
        traced = self.traced
        state = [value_of(variable) for variable in traced.written]
        read = [value_of(variable) for variable in traced.read]
        if not recording():
            state = to_give_away(state, _HOLDERS)
        if self._placement is None:
            state = unshared([*read, *state])[len(read) :]
        else:
            if self._agreement is not None and not self._agreed:
                state, read = self._agree(self._agreement, state, read, arrays)
            both = put_whole([*state, *read], self._placement)
            state, read = both[: len(state)], both[len(state) :]
            self._keep(traced.read, read)
            arrays = self._spread(arrays)
        if recording():
            for variable, value in zip(
                [*traced.written, *traced.read], [*state, *read], strict=True
            ):
                note_read(variable, value)
        compiled = self._recorded if recording() else self._compiled
        with self._waiting():
            result, state = compiled(state, read, arrays)
            if self._starves(state, arrays):
                jax.block_until_ready((result, state))
        self._keep(traced.written, state)
        if self._agreement is not None:
            result = jax.tree.map(self._held, result)
        return traced.rebuilt(result)

    def _agree(
        self, agreement: Agreement, state: list[Any], read: list[Any], arrays: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """See, before the first step, that every process runs the same one on the same state."""
        agreement.program("the step", self.traced.jaxpr, arrays)
        names = [v.path for v in (*self.traced.written, *self.traced.read)]
        both = agreement.state(names, [*state, *read])
        self._agreed = agreement.group.trail.named("the step")
        return both[: len(state)], both[len(state) :]

    def _keep(self, variables: Sequence[Any], values: list[Any]) -> None:
        for variable, value in zip(variables, values, strict=True):
            set_value(variable, self._held(value))

    def _held(self, part: Any) -> Any:
        return part if self._placement is None else held(part, self._placement)

    def _spread(self, arrays: list[Any]) -> list[Any]:
        """Give arrays that only this process has to all of its devices' programs."""
        if self._agreement is None:
            return arrays
        assert self._placement is not None
        local = [i for i, part in enumerate(arrays) if getattr(part, "is_fully_addressable", True)]
        for i, part in zip(
            local, put_whole([arrays[i] for i in local], self._placement), strict=True
        ):
            arrays[i] = part
        return arrays

    def _waiting(self) -> Any:
        """Say to the other processes that we compute, which they must do too."""
        if self._agreement is None:
            return nullcontext()
        self._num_runs += 1
        self._agreement.group.trail.note(self._agreed)
        self._agreement.group.at_step(self._num_runs)
        return self._agreement.group.waiting("computing a step with the others")

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

    def _run_joined(
        self, written: list[Any], read: list[Any], arrays: list[Any]
    ) -> tuple[Any, list[Any]]:
        if self._placement is None:
            return self._run(written, read, arrays)
        carries_rows = [num_rows is not None for num_rows in self._num_rows]
        step = with_narrow_indices(self._run_pair, self._placement)
        return with_joint_sums(step, self._placement, carries_rows)((written, read), arrays)

    def _run_narrow(
        self, written: list[Any], read: list[Any], arrays: list[Any]
    ) -> tuple[Any, list[Any]]:
        if self._placement is None:
            return self._run(written, read, arrays)
        return with_narrow_indices(self._run_pair, self._placement)((written, read), arrays)

    def _run_pair(
        self, state: tuple[list[Any], list[Any]], arrays: list[Any]
    ) -> tuple[Any, list[Any]]:
        return self._run(*state, arrays)

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
        split = even and part.shape[0] and self._agreement is None  # every process wants every row
        wanted = self._placement.rows if split else self._placement.whole
        return jax.lax.with_sharding_constraint(part, wanted)
