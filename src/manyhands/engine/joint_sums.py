"""Sums over rows that lie on several devices: all that are due at once in one all-reduce.

In: a pure step, a Layout, and which arrays carry rows.  Out: a step that gives the same.
It puts a sum over the rows off until nothing can be done without it; then all that wait are laid
end to end and summed over the devices together.

For CPUs.  XLA joins all-reduces there too, but meets once for each array of the joint one, over
sockets where the devices are several processes'; for GPUs it lays them end to end itself
(`python -m bench.buckets`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal
from jax.sharding import PartitionSpec

from manyhands.engine.batch import Arrays, leaves
from manyhands.engine.flat_program import Atom, Operation, flatten
from manyhands.engine.layout import ROWS, Layout
from manyhands.engine.row_dims import Dim, dim_after, is_sum
from manyhands.plan import joins_sums

LARGE_BYTES = 2**20
"""From this size on an array gains nothing by travelling with others."""


def with_joint_sums(
    step: Callable[[Any, Arrays], Any], layout: Layout, carries_rows: Sequence[bool]
) -> Callable[[Any, Arrays], Any]:
    """Join a step's sums over rows where that pays; `carries_rows` says it of each array."""

    def run(state: Any, arrays: Arrays) -> Any:
        if not _pays(layout, jax.tree.leaves(state)):
            return step(state, arrays)
        closed, given = jax.make_jaxpr(step, return_shape=True)(state, arrays)
        if closed.effects:  # their order is not ours to change
            return step(state, arrays)
        led = [False] * len(jax.tree.leaves(state))
        for part, has_rows in zip(leaves(arrays), carries_rows, strict=True):
            led += [has_rows] * len(jax.tree.leaves(part))
        results = _Evaluation(layout).run(closed, jax.tree.leaves((state, arrays)), led)
        return jax.tree.unflatten(jax.tree.structure(given), results)

    return run


def _pays(layout: Layout, state: list[Any]) -> bool:
    return joins_sums(
        num_devices=layout.mesh.shape[ROWS],
        platform=layout.platform,
        state_bytes=sum(part.size * part.dtype.itemsize for part in state),
    )


class _Sum(NamedTuple):
    """A sum over rows that waits, with its operands and where they hold their rows."""

    operation: Operation
    values: list[Any]
    dims: list[Dim]


class _Evaluation:
    """Goes over a program until all is done: what is known, and what waits to be summed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[int, Any] = {}
        self._dims: dict[int, Dim] = {}
        self._waiting: list[_Sum] = []

    def run(self, closed: Any, arguments: list[Any], led_by_rows: list[bool]) -> list[Any]:
        program = flatten(closed)
        self._known.update(program.constants)
        self._known.update(zip(program.arguments, arguments, strict=True))
        for number, led in zip(program.arguments, led_by_rows, strict=True):
            self._dims[number] = 0 if led else None
        todo = program.operations
        while todo:
            todo = [operation for operation in todo if not self._do(operation)]
            self._sum_up()
        return [self._value(result) for result in program.results]

    def _do(self, operation: Operation) -> bool:
        """Do an operation unless it needs a sum that waits; say whether it is done."""
        if any(isinstance(atom, int) and atom not in self._known for atom in operation.ins):
            return False
        values = [self._value(atom) for atom in operation.ins]
        dims = [self._dims.get(atom) if isinstance(atom, int) else None for atom in operation.ins]
        if is_sum(operation.name, operation.params, dims) and self._divide(values, dims):
            self._waiting.append(_Sum(operation, values, dims))
            return True
        results = operation(*values)
        self._known.update(zip(operation.outs, results, strict=True))
        if any(dim is not None for dim in dims):
            self._follow_rows(operation, values, dims, results)
        return True

    def _value(self, atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else self._known[atom]

    def _follow_rows(
        self, operation: Operation, values: list[Any], dims: list[Dim], results: list[Any]
    ) -> None:
        shapes = [jnp.shape(value) for value in values]
        for number, result in zip(operation.outs, results, strict=True):
            shape = jnp.shape(result)
            self._dims[number] = dim_after(operation.name, operation.params, shapes, dims, shape)

    def _divide(self, values: list[Any], dims: list[Dim]) -> bool:
        count = self._layout.mesh.shape[ROWS]
        lengths = (v.shape[dim] for v, dim in zip(values, dims, strict=True) if dim is not None)
        return all(length % count == 0 for length in lengths)

    def _sum_up(self) -> None:
        """Sum what waits: first the rows of each device, then those sums over the devices."""
        sums, self._waiting = self._waiting, []
        if not sums:
            return

        def on_each(operands: list[list[Any]]) -> list[Any]:
            return _over_devices(
                [one.operation(*rows)[0] for one, rows in zip(sums, operands, strict=True)]
            )

        totals = jax.shard_map(
            on_each,
            mesh=self._layout.mesh,
            in_specs=([[_split_at(dim) for dim in one.dims] for one in sums],),
            out_specs=PartitionSpec(),
            check_vma=False,
        )([one.values for one in sums])
        self._known.update(zip((one.operation.outs[0] for one in sums), totals, strict=True))


def _split_at(dim: Dim) -> PartitionSpec:
    return PartitionSpec() if dim is None else PartitionSpec(*[None] * dim, ROWS)


def _over_devices(parts: list[Any]) -> list[Any]:
    """Sum each part over the devices; small ones of a kind travel as one."""
    bundles = list(_bundles(parts))
    joined = [jnp.concatenate([parts[i].reshape(-1) for i in bundle]) for bundle in bundles]
    totals: list[Any] = [None] * len(parts)
    for bundle, total in zip(bundles, jax.lax.psum(joined, ROWS), strict=True):
        ends = list(accumulate(parts[i].size for i in bundle))
        for i, piece in zip(bundle, jnp.split(total, ends[:-1]), strict=True):
            totals[i] = piece.reshape(parts[i].shape)
    return totals


def _bundles(parts: Sequence[Any]) -> Iterator[list[int]]:
    small: dict[Any, list[int]] = {}
    for i, part in enumerate(parts):
        if part.size * part.dtype.itemsize >= LARGE_BYTES:
            yield [i]
        else:
            small.setdefault(part.dtype, []).append(i)
    yield from small.values()
