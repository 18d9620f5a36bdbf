"""The spmd engine: one XLA program over like devices, in the global view.

In: a Step and a Layout.  Out: a Program.
The step sees the whole batch and XLA splits it, so BatchNormalization, dropout, metrics and any
loss mean what they mean on one device.  Rows that do not divide are padded at the program's edge
and cut back to the true number inside it, where XLA may split them unevenly and stays exact.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from manyhands.engine.agreement import agreement_on
from manyhands.engine.batch import (
    Arrays,
    Batch,
    Batches,
    BatchSpec,
    Stack,
    is_leaf,
    leaves,
    rebuild,
)
from manyhands.engine.cost import count_flops
from manyhands.engine.joint_sums import with_joint_sums
from manyhands.engine.layout import Layout
from manyhands.engine.leaf import Leaf
from manyhands.engine.narrow_indices import with_narrow_indices
from manyhands.engine.placing import local_view, put_state
from manyhands.engine.program import Gives, Memory
from manyhands.engine.row_placer import RowPlacer
from manyhands.engine.step import Result, State, Step
from manyhands.plan import steps_unrolled


@dataclass(frozen=True)
class SpmdEngine:
    """Compiles steps for one layout."""

    layout: Layout

    def compile(self, step: Step, *, gives: Gives = "logs") -> SpmdProgram:
        """Make a program of a step."""
        return SpmdProgram(step, self.layout, gives=gives)


class SpmdProgram:
    """One step compiled for one layout."""

    def __init__(self, step: Step, layout: Layout, *, gives: Gives = "logs") -> None:
        self.rows = RowPlacer(layout)
        self._step = step
        self._layout = layout
        self._gives: Gives = gives
        self._agreement = agreement_on(layout)
        self._num_steps = 0
        self._names: dict[Any, str] = {}
        self._ran: dict[Any, tuple[Any, ...]] = {}
        self._narrowed: dict[str, None] = {}
        self._runs: dict[tuple[Leaf, ...], _Runs] = {}
        self._current: tuple[tuple[Leaf, ...], _Runs] | None = None

    # state

    def place_state(self, state: State, *, agree: bool = False) -> State:
        """Put the state where the layout wants it; with `agree`, the same in every process."""
        step_leaves = self._step.leaves
        if agree and self._agreement is not None:
            state = self._agreement.state([leaf.path for leaf in step_leaves], state)
        return put_state(state, self._runs_of(step_leaves).places, self._layout)

    def local(self, part: Any) -> Any:
        """Give a result or a part of the state as Python holds it."""
        return local_view(part, self._layout)

    # running

    def __call__(
        self, state: State, batches: Batches, *, donate: bool = True
    ) -> tuple[Result, State]:
        """Run one step, or several in one launch."""
        assert self._current is not None, "a state is placed before it is used"
        runs = self._current[1]
        written, kept = runs.parted(state)
        if isinstance(batches, Batch):
            compiled = runs.one if donate else runs.one_kept
            args: Any = (written, kept, batches.arrays, batches.spec)
        elif isinstance(batches, Stack):
            compiled, args = runs.stack, (written, kept, batches.arrays, batches.spec)
        else:
            compiled, args = runs.picks, (written, kept, batches.data, batches.rows, batches.spec)
        given, new = self._launch(compiled, args, batches.num_steps)
        return given, runs.joined(new, state)

    def _launch(self, compiled: Any, args: Any, num_steps: int) -> Any:
        key = (compiled, args[-1])
        agreement = self._agreement
        if key not in self._ran:
            if agreement is not None:
                agreement.program("the compiled step", compiled.trace(*args).jaxpr, args[2:-1])
                self._names[key] = agreement.group.trail.named(self._step.name)
            self._ran[key] = jax.tree.map(_spec, args)
        if agreement is None:
            return compiled(*args)
        self._num_steps += num_steps
        agreement.group.trail.note(self._names[key])
        agreement.group.at_step(self._num_steps)
        with self.waiting():
            given, new = compiled(*args)
        return jax.tree.map(self.local, given), new

    def waiting(self) -> Any:
        """Say to the other processes that we compute, which they must do too."""
        if self._agreement is None:
            return nullcontext()
        return self._agreement.waiting(f"computing a {self._step.name} with the others")

    def _runs_of(self, step_leaves: tuple[Leaf, ...]) -> _Runs:
        """Give what is compiled for a state of these leaves."""
        if self._current is not None and self._current[0] is step_leaves:
            return self._current[1]
        runs = self._runs.get(step_leaves)
        if runs is None:
            runs = self._runs[step_leaves] = _Runs(self, step_leaves, self._layout)
        self._current = step_leaves, runs
        return runs

    # what is compiled

    def _run_one(self, runs: _Runs, written: State, kept: State, arrays: Arrays, spec: BatchSpec):
        given, written = self._stepped(runs, written, kept, self._true_rows(arrays, spec), spec)
        if self._gives == "rows":
            given = jax.tree.map(self._split_evenly, given, is_leaf=is_leaf)
        return given, written

    def _run_stack(self, runs: _Runs, written: State, kept: State, arrays: Arrays, spec: BatchSpec):
        return self._scan(
            runs, written, kept, arrays, spec, lambda part: self._true_rows(part, spec)
        )

    def _run_picks(
        self,
        runs: _Runs,
        written: State,
        kept: State,
        data: Arrays,
        rows: jax.Array,
        spec: BatchSpec,
    ):
        def pick(numbers: jax.Array) -> Arrays:
            if spec.pads:
                numbers = self._split(self._layout.rows.cut(numbers, spec.num_rows))
            return jax.tree.map(lambda part: self._split(part[numbers]), data)

        return self._scan(runs, written, kept, rows, spec, pick)

    def _scan(
        self,
        runs: _Runs,
        written: State,
        kept: State,
        steps: Any,
        spec: BatchSpec,
        batch_of: Any,
    ):
        def body(carry: State, step: Any):
            given, after = self._stepped(runs, carry, kept, batch_of(step), spec)
            return jax.tree.map(_like, after, carry), given

        unroll = steps_unrolled(jax.tree.leaves(steps)[0].shape[0], platform=self._layout.platform)
        written, given = jax.lax.scan(body, jax.tree.map(_settled, written), steps, unroll=unroll)
        if self._gives == "logs":
            return jax.tree.map(lambda part: part[-1], given), written
        return jax.tree.map(self._end_to_end, given), written

    def _stepped(
        self, runs: _Runs, written: State, kept: State, arrays: Arrays, spec: BatchSpec
    ) -> tuple[Result, State]:
        def step(both: tuple[State, State], arrays: Arrays) -> tuple[Result, State]:
            given, after = self._step(runs.whole(*both), arrays)
            return given, runs.parted(after)[0]

        narrow = with_narrow_indices(step, self._layout, self._note_narrowed)
        joint = with_joint_sums(narrow, self._layout, spec.carries_rows)
        return joint((written, kept), arrays)

    def _note_narrowed(self, what: str, line: str) -> None:
        self._narrowed[f"{what}, {line}" if line else what] = None

    def _true_rows(self, arrays: Arrays, spec: BatchSpec) -> Arrays:
        parts = [
            part
            if count is None or part.shape[0] == count
            else self._split(self._layout.rows.cut(part, count))
            for part, count in zip(leaves(arrays), spec.rows, strict=True)
        ]
        return rebuild(arrays, parts)

    def _split(self, part: jax.Array) -> jax.Array:
        if self._layout.num_replicas == 1:
            return part
        return jax.lax.with_sharding_constraint(part, self._layout.split_rows)

    def _split_evenly(self, part: Any) -> Any:
        """Give rows back split where they divide, whole otherwise (a result cannot be uneven)."""
        if self._layout.num_replicas == 1 or is_leaf(part) or not isinstance(part, jax.Array):
            return part
        even = part.ndim > 0 and part.shape[0] > 0 and self._layout.rows.divides(part.shape[0])
        split = even and not self._layout.spans_processes  # every process wants every row
        wanted = self._layout.split_rows if split else self._layout.replicated
        return jax.lax.with_sharding_constraint(part, wanted)

    def _end_to_end(self, part: jax.Array) -> jax.Array:
        """Lay the rows of several steps end to end."""
        if part.ndim > 1:
            part = part.reshape(part.shape[0] * part.shape[1], *part.shape[2:])
        return self._split_evenly(part)

    # looking ahead

    def flops(self, state: State, spec: BatchSpec, arrays: Arrays) -> float | None:
        """Count the floating-point operations of one step, from the program before compiling."""
        return count_flops(self.traced(state, spec, arrays).jaxpr)

    def traced(self, state: State, spec: BatchSpec, arrays: Arrays) -> Any:
        """Trace one step for these shapes, without running it."""
        specs = [
            jax.ShapeDtypeStruct(
                part.shape if count is None else (spec.padded_rows, *part.shape[1:]),
                part.dtype,
                sharding=self._layout.replicated if count is None else self._layout.split_rows,
            )
            for part, count in zip(leaves(arrays), spec.rows, strict=True)
        ]
        runs = self._runs_of(self._step.leaves)
        described = [_placed_spec(*both) for both in zip(state, runs.places, strict=True)]
        return runs.one.trace(*runs.parted(described), rebuild(arrays, specs), spec)

    def text(self, state: State, batch: Batch) -> str:
        """Give the compiled program of one step as XLA prints it."""
        runs = self._runs_of(self._step.leaves)
        lowered = runs.one.lower(*runs.parted(state), batch.arrays, batch.spec)
        return lowered.compile().as_text() or ""

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


class _Runs:
    """The ways to run a program whose state has these leaves."""

    def __init__(self, program: SpmdProgram, state: tuple[Leaf, ...], layout: Layout) -> None:
        self.places = [layout.place_of(leaf) for leaf in state]
        self._written = [i for i, leaf in enumerate(state) if leaf.is_written]
        self._kept = [i for i, leaf in enumerate(state) if not leaf.is_written]
        given = layout.replicated if program._gives == "logs" else None
        after = [self.places[i] for i in self._written]
        compiled = partial(jax.jit, out_shardings=(given, after) if layout.mesh.size > 1 else None)
        one, stack, picks = (
            _named(partial(run, self), f"{program._step.name.replace(' ', '_')}{how}")
            for run, how in (
                (program._run_one, ""),
                (program._run_stack, "s"),
                (program._run_picks, "s_on_device"),
            )
        )
        self.one = compiled(one, donate_argnums=0, static_argnums=3)
        self.one_kept = compiled(one, static_argnums=3)
        """For a tape around the call: it may want to go back through what it was given."""
        self.stack = compiled(stack, donate_argnums=0, static_argnums=3)
        self.picks = compiled(picks, donate_argnums=0, static_argnums=4)

    def parted(self, state: State) -> tuple[State, State]:
        """Give the arrays that the step writes, and those it only reads."""
        if not self._kept:
            return state, []
        return [state[i] for i in self._written], [state[i] for i in self._kept]

    def whole(self, written: State, kept: State) -> State:
        """Bring both together again."""
        if not self._kept:
            return written
        state: State = [None] * (len(written) + len(kept))
        for i, part in zip(self._written, written, strict=True):
            state[i] = part
        for i, part in zip(self._kept, kept, strict=True):
            state[i] = part
        return state

    def joined(self, written: State, before: State) -> State:
        """Give the whole state after a step."""
        if not self._kept:
            return written
        state = list(before)
        for i, part in zip(self._written, written, strict=True):
            state[i] = part
        return state


def _named(run: Any, name: str) -> Any:
    """Give a program the name that profiles show."""
    run.__name__ = name
    return run


def _like(part: jax.Array, before: jax.Array) -> jax.Array:
    return jnp.asarray(part, before.dtype)


def _settled(part: jax.Array) -> jax.Array:
    return jax.lax.convert_element_type(part, part.dtype)


def _placed_spec(part: jax.Array, place: Any) -> jax.ShapeDtypeStruct:
    weak = getattr(part, "weak_type", False)
    return jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=place, weak_type=weak)


def _spec(part: Any) -> Any:
    if isinstance(part, jax.Array):
        return jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=part.sharding)
    return part
