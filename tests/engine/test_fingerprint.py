"""Two steps are the same only if everything they close over is, however deep it lies."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import manyhands as mh
from manyhands.engine.fingerprint import fingerprint

ROWS = np.ones((4, 3), "float32")


def deep(wrap, depth):
    return lambda f: functools.reduce(lambda inner, _: wrap(inner), range(depth), f)


def closed_over(f):
    return lambda x: f(x)


WRAPS = {
    "grad": lambda f: jax.grad(lambda x: jnp.sum(f(x))),
    "grad of grad": lambda f: jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(f(x)))(x))),
    "vmap": jax.vmap,
    "vmap of vmap": lambda f: jax.vmap(jax.vmap(f)),
    "jit of grad": lambda f: jax.jit(jax.grad(lambda x: jnp.sum(f(x)))),
    "checkpoint": jax.checkpoint,
    "a closure": closed_over,
    "the same closure thrice": deep(closed_over, 3),
    "partial": lambda f: functools.partial(lambda f, x: f(x), f),
}


@pytest.mark.parametrize("wrap", WRAPS)
def test_steps_that_differ_deep_inside_are_told_apart(wrap):
    one, other = lambda x: 2 * x * x, lambda x: 5 * x * x
    assert fingerprint(WRAPS[wrap](one)) != fingerprint(WRAPS[wrap](other))
    strategy = mh.MirroredStrategy(["CPU:0", "CPU:1"])
    for f in (one, other):
        step = WRAPS[wrap](f)
        assert np.allclose(strategy.run(step, args=(ROWS,)), step(jnp.asarray(ROWS)))


def test_a_step_made_anew_is_the_same_step():
    def made(factor):
        def step(x, depth=0):
            return x * factor if depth else step(x, 1)

        return step

    assert fingerprint(made(2)) == fingerprint(made(2))
    assert fingerprint(made(2)) != fingerprint(made(3))
