"""The spmd engine: one XLA program over like devices, in the global view.

In: a pure step and a Placement.  Out: a Program.
The step sees the whole batch and XLA splits it, so BatchNormalization, dropout, metrics and any
loss mean what they mean on one device.  Rows that do not divide are padded at the program's edge
and cut back to the true number inside it, where XLA may split them unevenly and stays exact.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.engine.agreement import agreement_on
from manyhands.engine.batch import (
    Arrays,
    Batch,
    Batches,
    Picks,
    RowLayout,
    Stack,
    is_leaf,
    layout_of,
    leaves,
    pad_rows,
    rebuild,
)
from manyhands.engine.cost import count_flops
from manyhands.engine.joint_sums import with_joint_sums
from manyhands.engine.narrow_indices import with_narrow_indices
from manyhands.engine.placement import Placement
from manyhands.engine.placing import held, put, put_own, put_whole
from manyhands.engine.program import Logs, Memory, State, Step
from manyhands.engine.upload import upload
from manyhands.plan import steps_unrolled

Gives = Literal["logs", "rows"]


class SpmdProgram:
    """One step compiled for one placement."""

    def __init__(
        self,
        step: Step,
        placement: Placement,
        *,
        gives: Gives = "logs",
    ) -> None:
        self._step = jax.jit(step)  # traced once, whether steps run singly or many at a time
        self._placement = placement
        self._gives = gives
        self._agreement = agreement_on(placement)
        self._ran: dict[tuple[Any, RowLayout], tuple[Any, ...]] = {}
        self._names: dict[tuple[Any, RowLayout], str] = {}
        self._narrowed: dict[str, None] = {}
        self._name = getattr(step, "__name__", "step")
        split = placement.num_replicas > 1
        whole = placement.whole if split else None
        compiled = partial(
            jax.jit,
            donate_argnums=0,
            out_shardings=(whole if gives == "logs" else None, whole) if split else None,
        )
        self._one = compiled(self._run_one, static_argnums=2)
        self._stack = compiled(self._run_stack, static_argnums=2)
        self._picks = compiled(self._run_picks, static_argnums=3)

    # placing

    def place_state(self, state: State) -> State:
        """Copy the state to every device, unless it is there; no two parts share a buffer."""
        parts, structure = jax.tree.flatten(state)
        parts = put_whole(parts, self._placement)
        return jax.tree.unflatten(structure, parts)

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch this process feeds."""
        return self._placement.share(num_rows)

    def place_batch(self, batch: Arrays, num_rows: int | None = None) -> Batch:
        """Split one step's rows over the devices; with `num_rows`, our share of so many."""
        layout = layout_of(batch, self._placement.num_replicas)
        if num_rows is not None:
            layout = replace(
                layout, num_rows=num_rows, padded_rows=self._placement.padded(num_rows)
            )
        return Batch(self._put(batch, layout, dim=0, own=num_rows is not None), layout)

    def place_stack(self, stack: Arrays, num_steps: int, num_rows: int | None = None) -> Stack:
        """Split several steps' rows over the devices."""
        first = rebuild(stack, [part[0] for part in leaves(stack)])
        layout = layout_of(first, self._placement.num_replicas)
        if num_rows is not None:
            layout = replace(
                layout, num_rows=num_rows, padded_rows=self._placement.padded(num_rows)
            )
        placed = self._put(stack, layout, dim=1, own=num_rows is not None)
        return Stack(placed, layout, num_steps)

    def place_data(self, data: Arrays) -> Arrays:
        """Copy a data set to every device."""
        return upload(data, self._placement.whole)

    def place_picks(self, data: Arrays, rows: np.ndarray) -> Picks:
        """Split row numbers over the devices."""
        num_rows = rows.shape[1]
        layout = RowLayout(num_rows, self._placement.padded(num_rows), (True,) * len(leaves(data)))
        numbers = pad_rows(rows.astype(np.int32), layout.padded_rows, dim=1)
        return Picks(data, put(numbers, self._placement.stacked_rows), layout)

    def _put(self, arrays: Arrays, layout: RowLayout, *, dim: int, own: bool) -> Arrays:
        if not self._placement.spans_processes:
            return self._put_here(arrays, layout, dim=dim)
        split = self._placement.rows if dim == 0 else self._placement.stacked_rows
        share = self._placement.share(layout.padded_rows)
        parts = []
        for part, has_rows in zip(leaves(arrays), layout.carries_rows, strict=True):
            if not has_rows:
                parts.append(put(part, self._placement.whole))
            elif not own:
                parts.append(put(pad_rows(part, layout.padded_rows, dim), split))
            else:
                mine = pad_rows(np.asarray(part), share.stop - share.start, dim)
                shape = (*mine.shape[:dim], layout.padded_rows, *mine.shape[dim + 1 :])
                parts.append(put_own(mine, split, shape, share, dim))
        return rebuild(arrays, parts)

    def _put_here(self, arrays: Arrays, layout: RowLayout, *, dim: int) -> Arrays:
        split = self._placement.rows if dim == 0 else self._placement.stacked_rows
        parts, places = [], []
        for part, has_rows in zip(leaves(arrays), layout.carries_rows, strict=True):
            parts.append(pad_rows(part, layout.padded_rows, dim) if has_rows else part)
            places.append(split if has_rows else self._placement.whole)
        return rebuild(arrays, jax.device_put(parts, places))

    def held(self, part: Any) -> Any:
        """Give a result or a part of the state as Python holds it."""
        return held(part, self._placement)

    # running

    def __call__(self, state: State, batch: Batch) -> tuple[Logs, State]:
        """Run one step."""
        return self._run(self._one, state, batch.arrays, batch.layout)

    def many(self, state: State, batches: Batches) -> tuple[Logs, State]:
        """Run several steps in one launch."""
        if isinstance(batches, Batch):
            return self(state, batches)
        if isinstance(batches, Stack):
            return self._run(self._stack, state, batches.arrays, batches.layout)
        return self._run(self._picks, state, batches.data, batches.rows, batches.layout)

    def _run(self, compiled: Any, *args: Any) -> tuple[Logs, State]:
        variant = (compiled, args[-1])
        if variant not in self._ran:
            if self._agreement is not None:
                program = compiled.trace(*args).jaxpr
                self._agreement.program("the compiled step", program, args[1:-1])
                self._names[variant] = self._agreement.group.trail.named(self._name)
            self._ran[variant] = jax.tree.map(_spec, args)
        if self._agreement is not None:
            self._agreement.group.trail.note(self._names[variant])
        logs, state = compiled(*args)
        return jax.tree.map(self.held, logs), state

    # what is compiled

    def _run_one(self, state: State, arrays: Arrays, layout: RowLayout):
        given, state = self._stepped(state, self._true_rows(arrays, layout), layout)
        if self._gives == "rows":
            given = jax.tree.map(self._split_evenly, given, is_leaf=is_leaf)
        return given, state

    def _run_stack(self, state: State, arrays: Arrays, layout: RowLayout):
        return self._scan(state, arrays, layout, lambda part: self._true_rows(part, layout))

    def _run_picks(self, state: State, data: Arrays, rows: jax.Array, layout: RowLayout):
        def pick(numbers: jax.Array) -> Arrays:
            if layout.pads:
                numbers = self._split(numbers[: layout.num_rows])
            return jax.tree.map(lambda part: self._split(part[numbers]), data)

        return self._scan(state, rows, layout, pick)

    def _scan(self, state: State, steps: Any, layout: RowLayout, batch_of: Any):
        def body(carry: State, step: Any):
            given, after = self._stepped(carry, batch_of(step), layout)
            return jax.tree.map(_like, after, carry), given

        unroll = steps_unrolled(
            jax.tree.leaves(steps)[0].shape[0], platform=self._placement.platform
        )
        state, given = jax.lax.scan(body, jax.tree.map(_settled, state), steps, unroll=unroll)
        if self._gives == "logs":
            return jax.tree.map(lambda part: part[-1], given), state
        return jax.tree.map(self._joined, given), state

    def _stepped(self, state: State, arrays: Arrays, layout: RowLayout) -> tuple[Logs, State]:
        step = with_narrow_indices(self._step, self._placement, self._note_narrowed)
        return with_joint_sums(step, self._placement, layout.carries_rows)(state, arrays)

    def _note_narrowed(self, what: str, line: str) -> None:
        self._narrowed[f"{what}, {line}" if line else what] = None

    def _true_rows(self, arrays: Arrays, layout: RowLayout) -> Arrays:
        if not layout.pads:
            return arrays
        parts = [
            self._split(part[: layout.num_rows]) if has_rows else part
            for part, has_rows in zip(leaves(arrays), layout.carries_rows, strict=True)
        ]
        return rebuild(arrays, parts)

    def _split(self, part: jax.Array) -> jax.Array:
        if self._placement.num_replicas == 1:
            return part
        return jax.lax.with_sharding_constraint(part, self._placement.rows)

    def _split_evenly(self, part: jax.Array) -> jax.Array:
        """Give rows back split where they divide, whole otherwise (a result cannot be uneven)."""
        if self._placement.num_replicas == 1 or is_leaf(part):
            return part
        even = part.ndim > 0 and part.shape[0] % self._placement.num_replicas == 0
        split = even and not self._placement.spans_processes  # every process wants every row
        wanted = self._placement.rows if split else self._placement.whole
        return jax.lax.with_sharding_constraint(part, wanted)

    def _joined(self, part: jax.Array) -> jax.Array:
        """Lay the rows of several steps end to end."""
        if part.ndim > 1:
            part = part.reshape(part.shape[0] * part.shape[1], *part.shape[2:])
        return self._split_evenly(part)

    # looking ahead

    def flops(self, state: State, layout: RowLayout, arrays: Arrays) -> float | None:
        """Count the floating-point operations of one step, from the program before compiling."""
        return count_flops(self.traced(state, layout, arrays).jaxpr)

    def traced(self, state: State, layout: RowLayout, arrays: Arrays) -> Any:
        """Trace one step for these shapes, without running it."""
        specs = [
            jax.ShapeDtypeStruct(
                (layout.padded_rows, *part.shape[1:]) if has_rows else part.shape,
                part.dtype,
                sharding=self._placement.rows if has_rows else self._placement.whole,
            )
            for part, has_rows in zip(leaves(arrays), layout.carries_rows, strict=True)
        ]
        state = jax.tree.map(self._whole_spec, state)
        return self._one.trace(state, rebuild(arrays, specs), layout)

    def _whole_spec(self, part: jax.Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(
            part.shape, part.dtype, sharding=self._placement.whole, weak_type=part.weak_type
        )

    def narrowed(self) -> list[str]:
        """List the operations whose indices XLA could not have split as they were."""
        return list(self._narrowed)

    def memory(self) -> Memory | None:
        """Ask XLA what the programs that ran take on each device: the largest of them."""
        analyses = [
            compiled.lower(*args).compile().memory_analysis()
            for (compiled, _), args in self._ran.items()
        ]
        sizes = [
            Memory(
                arguments_bytes=analysis.argument_size_in_bytes,
                outputs_bytes=analysis.output_size_in_bytes,
                temporaries_bytes=analysis.temp_size_in_bytes,
                reused_bytes=analysis.alias_size_in_bytes,
            )
            for analysis in analyses
            if analysis is not None
        ]
        return max(sizes, key=lambda memory: memory.peak_bytes, default=None)


def _like(part: jax.Array, before: jax.Array) -> jax.Array:
    return jnp.asarray(part, before.dtype)


def _settled(part: jax.Array) -> jax.Array:
    return jax.lax.convert_element_type(part, part.dtype)


def _spec(part: Any) -> Any:
    if isinstance(part, jax.Array):
        return jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=part.sharding)
    return part
