from __future__ import annotations

import jax
import jax.numpy as jnp

from manyhands.engine.cost import count_flops


def flops(function, *shapes):
    specs = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return count_flops(jax.jit(function).trace(*specs).jaxpr)


def test_products_are_counted_exactly():
    assert flops(lambda a, b: a @ b, (3, 5), (5, 7)) == 2 * 3 * 5 * 7
    assert flops(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), (2, 3, 5), (2, 5, 7)) == 420


def test_convolutions_are_counted_exactly():
    def conv(x, k):
        return jax.lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    assert flops(conv, (2, 8, 8, 3), (3, 3, 3, 4)) == 2 * (2 * 8 * 8 * 4) * (3 * 3 * 3)


def test_loops_count_every_turn_and_branches_the_dearest():
    def loop(a):
        return jax.lax.scan(lambda c, _: (c @ c, None), a, None, length=5)[0]

    assert flops(loop, (4, 4)) == 5 * 2 * 4 * 4 * 4

    def branch(a):
        return jax.lax.cond(a[0, 0] > 0, lambda a: a @ a, lambda a: a, a)

    assert flops(branch, (4, 4)) >= 2 * 4 * 4 * 4
