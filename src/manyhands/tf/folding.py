"""Functions of rows, one after the other: each is given what came of those before.

In: a function of what came before and one row, and rows.  Out: what came of all, or of each.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from manyhands.tf.tensor import tensor


def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: Any = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: Any = None,
) -> Any:
    """Call a function on each row and what came of the row before; give all that came."""
    del parallel_iterations, back_prop, swap_memory, infer_shape, name
    return _folded(fn, elems, initializer, reverse)[1]


def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: Any = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: Any = None,
) -> Any:
    """Call a function on each row and what came of the row before; give what came of the last."""
    del parallel_iterations, back_prop, swap_memory, name
    return _folded(fn, elems, initializer, False)[0]


def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: Any = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: Any = None,
) -> Any:
    """The same from the last row to the first."""
    del parallel_iterations, back_prop, swap_memory, name
    return _folded(fn, elems, initializer, True)[0]


def _folded(fn: Any, elems: Any, initializer: Any, reverse: bool) -> tuple[Any, Any]:
    """Give the last result and all of them; the first row is the first where there is none."""
    rows = jax.tree.map(tensor, elems)

    def step(before: Any, row: Any) -> tuple[Any, Any]:
        found = jax.tree.map(
            lambda old, new: tensor(new).astype(old.dtype), before, fn(before, row)
        )
        return found, found

    if initializer is not None:
        return jax.lax.scan(step, jax.tree.map(tensor, initializer), rows, reverse=reverse)
    start = -1 if reverse else 0
    first = jax.tree.map(lambda part: part[start], rows)
    others = jax.tree.map(lambda part: part[:-1] if reverse else part[1:], rows)
    last, given = jax.lax.scan(step, first, others, reverse=reverse)
    ends = lambda one, many: [many, one[None]] if reverse else [one[None], many]  # noqa: E731
    return last, jax.tree.map(lambda one, many: jnp.concatenate(ends(one, many)), first, given)
