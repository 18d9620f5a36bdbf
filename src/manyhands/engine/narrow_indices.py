"""Indices of gathers and scatters as 32-bit integers, which is all that XLA can split unevenly.

In: a pure step, a Layout.  Out: a step that gives the same.
Where rows do not divide, XLA's partitioner (JAX 0.10 to 0.12) ends the process if a scatter's
indices are anything but int32: 64-bit ids, or the small unsigned ones that the gradient of a sort
makes (sort, median, quantile, shuffle). An index outside of int32 lies outside of any array too,
so that bringing it to the end of int32 changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from manyhands.engine.batch import Arrays
from manyhands.engine.jax_inside import evaluate, line_of
from manyhands.engine.layout import Layout

_INDEXED = ("gather", "scatter")
_INT32 = np.iinfo(np.int32)


Note = Callable[[str, str], None]
"""Is told of each operation whose indices were narrowed: what it is, and its line or ''."""


def with_narrow_indices(
    step: Callable[[Any, Arrays], Any], layout: Layout, note: Note = lambda *_: None
) -> Callable[[Any, Arrays], Any]:
    """Give a step whose indices XLA can split, on several devices."""
    if layout.mesh.size == 1:
        return step

    def run(state: Any, arrays: Arrays) -> Any:
        closed, given = jax.make_jaxpr(step, return_shape=True)(state, arrays)
        if not _has_any(closed.jaxpr):
            return step(state, arrays)
        results = _run(closed, jax.tree.leaves((state, arrays)), note)
        return jax.tree.unflatten(jax.tree.structure(given), results)

    return run


def _run(closed: ClosedJaxpr, arguments: list[Any], note: Note) -> list[Any]:
    """Do what a jaxpr does, with narrow indices."""
    values: dict[Any, Any] = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, arguments, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in closed.jaxpr.eqns:
        given = [value(atom) for atom in equation.invars]
        if _is_wide(equation):
            note(f"{equation.primitive.name} with {given[1].dtype} indices", line_of(equation))
            given[1] = _narrow(given[1])
        elif equation.primitive.name == "sort":
            values.update(zip(equation.outvars, _sort(equation, given), strict=True))
            continue
        elif any(map(_has_any, _inner(equation.params))):
            inner = _at(line_of(equation), note)
            equation = equation.replace(params=_narrow_inside(equation.params, inner))
        values.update(zip(equation.outvars, evaluate(equation, given), strict=True))
    return [value(atom) for atom in closed.jaxpr.outvars]


def _at(line: str, note: Note) -> Note:
    """Give operations the line that calls them where they know none."""
    return lambda what, own: note(what, own or line)


def _narrow(indices: Any) -> Any:
    info = np.iinfo(indices.dtype)
    low, high = max(_INT32.min, info.min), min(_INT32.max, info.max)
    return jnp.clip(indices, low, high).astype(np.int32)


def _sort(equation: Any, operands: list[Any]) -> Any:
    """Sort, so that a derivative taken from outside has narrow indices too."""
    dim = equation.params["dimension"]

    @jax.custom_jvp
    def run(*operands: Any) -> tuple[Any, ...]:
        return tuple(evaluate(equation, list(operands)))

    @run.defjvp
    def jvp(primals: Any, tangents: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        places = jax.lax.broadcasted_iota(np.int32, primals[0].shape, dim)
        *results, order = equation.primitive.bind(*primals, places, **equation.params)
        return tuple(results), tuple(_in_order(tangent, order, dim) for tangent in tangents)

    return run(*operands)


def _in_order(tangent: Any, order: Any, dim: int) -> Any:
    if tangent.dtype == jax.dtypes.float0:
        return tangent
    return jnp.take_along_axis(tangent, order, axis=dim)


def _is_wide(equation: Any) -> bool:
    if not equation.primitive.name.startswith(_INDEXED):
        return False
    dtype = equation.invars[1].aval.dtype
    return dtype != np.int32 and jnp.issubdtype(dtype, np.integer)


def _has_any(jaxpr: Jaxpr) -> bool:
    """Whether there is anything to do, at any depth."""
    return any(
        _is_wide(equation)
        or equation.primitive.name == "sort"
        or any(map(_has_any, _inner(equation.params)))
        for equation in jaxpr.eqns
    )


def _inner(params: dict[str, Any]) -> list[Jaxpr]:
    """List the jaxprs that an operation runs: loops, branches, functions."""
    parts = [part for value in params.values() for part in _listed(value)]
    return [part.jaxpr if isinstance(part, ClosedJaxpr) else part for part in parts]


def _listed(value: Any) -> list[Any]:
    parts = value if isinstance(value, tuple | list) else [value]
    return [part for part in parts if isinstance(part, ClosedJaxpr | Jaxpr)]


def _narrow_inside(params: dict[str, Any], note: Note) -> dict[str, Any]:
    def narrowed(part: Any) -> Any:
        if isinstance(part, ClosedJaxpr):
            return _narrow_jaxpr(part, note)
        if isinstance(part, Jaxpr):
            made = _narrow_jaxpr(ClosedJaxpr(part, ()), note)
            assert not made.consts, "an open jaxpr has nowhere to keep constants"
            return made.jaxpr
        return part

    return {
        name: tuple(map(narrowed, value)) if type(value) is tuple else narrowed(value)
        for name, value in params.items()
    }


def _narrow_jaxpr(closed: ClosedJaxpr, note: Note) -> ClosedJaxpr:
    def run(*arguments: Any) -> list[Any]:
        return _run(closed, list(arguments), note)

    avals = [variable.aval for variable in closed.jaxpr.invars]
    return jax.make_jaxpr(run)(*avals)
