"""Where rows go: changing their order going in changes it the same way coming out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from manyhands.engine.flat_program import flatten
from manyhands.engine.row_dims import dim_after, is_sum

ROWS = 6
X = np.random.default_rng(0).normal(size=(ROWS, 4, 5))
TABLE = np.random.default_rng(1).normal(size=(9, 3))
IMAGES = np.random.default_rng(2).normal(size=(ROWS, 8, 8, 2)).astype("float32")
KERNEL = np.random.default_rng(3).normal(size=(3, 3, 2, 4)).astype("float32")
NUMBERS = np.arange(ROWS * 2).reshape(ROWS, 2) % 9


def conv(x):
    return jax.lax.conv_general_dilated(
        x, KERNEL, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


MOVES = {
    "by element": (lambda x: jnp.tanh(x) * 2, X, 0),
    "transposed": (lambda x: jnp.transpose(x, (1, 2, 0)), X, 2),
    "a dim more": (lambda x: x[:, None], X, 0),
    "before the rows": (lambda x: x[None], X, 1),
    "a dim less": (lambda x: jax.lax.squeeze(x[:, :1], (1,)), X, 0),
    "flattened": (lambda x: x.reshape(ROWS, 20), X, 0),
    "each several": (lambda x: x.reshape(ROWS * 4, 5), X, 0),
    "in groups": (lambda x: x.reshape(2, 3, 4, 5), X, 0),
    "other dims summed": (lambda x: x.sum((1, 2)), X, 0),
    "the largest": (lambda x: jnp.argmax(x, 1), X, 0),
    "times a matrix": (lambda x: x @ np.ones((5, 7)), X, 0),
    "a matrix times": (lambda x: jnp.einsum("ab,rcb->acr", np.ones((2, 5)), x), X, 2),
    "times each other": (lambda x: jnp.einsum("rab,rcb->rac", x, x), X, 0),
    "joined": (lambda x: jnp.concatenate([x, x], 1), X, 0),
    "sorted": (lambda x: jnp.sort(x, 2), X, 0),
    "looked up": (lambda x: jnp.asarray(TABLE)[x], NUMBERS, 0),
    "convolved": (conv, IMAGES, 0),
    "all rows of one": (lambda x: x.reshape(-1), X, 0),
}
REGROUPED = ("each several", "in groups", "all rows of one")
"""Where a dim holds the rows in their order, but not one row an element."""

SUMS = {
    "sum": (lambda x: x.sum(0), X),
    "sum of all": (lambda x: x.sum(), X),
    "products": (lambda x: jnp.einsum("rab,rcd->abcd", x, x), X),
    "products of more": (lambda x: jnp.einsum("rab,rad->bd", x, x), X),
}


def followed(function, x):
    """Follow the rows through a function's operations: (where at the end, whether a sum came)."""
    program = flatten(jax.make_jaxpr(function)(x))
    where, sums = {program.arguments[0]: 0}, []
    for operation in program.operations:
        equation, name, params = operation.equation, operation.name, operation.params
        dims = [where.get(atom) if isinstance(atom, int) else None for atom in operation.ins]
        sums.append(is_sum(name, params, dims))
        shapes = [atom.aval.shape for atom in equation.invars]
        for number, out in zip(operation.outs, equation.outvars, strict=True):
            where[number] = dim_after(name, params, shapes, dims, out.aval.shape)
    return where[program.results[0]], any(sums)


@pytest.mark.parametrize("case", MOVES)
def test_rows_are_followed(case):
    function, x, dim = MOVES[case]
    assert followed(function, x) == (dim, False)


@pytest.mark.parametrize("case", [name for name in MOVES if name not in REGROUPED])
def test_they_really_are_there(case):
    function, x, dim = MOVES[case]
    order = np.array([3, 1, 5, 0, 2, 4])
    moved = function(jnp.asarray(x[order]))
    np.testing.assert_allclose(
        moved, np.take(np.asarray(function(jnp.asarray(x))), order, dim), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("case", SUMS)
def test_sums_over_rows_are_known(case):
    assert followed(*SUMS[case]) == (None, True)


def test_the_gradient_of_a_kernel_is_one():
    def loss(kernel, x):
        return jnp.sum(
            jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            ** 2
        )

    assert followed(lambda x: jax.grad(loss)(KERNEL, x), IMAGES)[1]


def test_sums_over_other_dims_are_not():
    assert not followed(lambda x: x.sum(1) @ np.ones((5, 2)), X)[1]
