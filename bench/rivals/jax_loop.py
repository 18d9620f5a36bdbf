"""A loop written by hand in JAX for the MLP: data on the device, rows picked inside a scan.

The floor that `fit` is held against; it has no metrics, callbacks, history or last short batch.
"""

from __future__ import annotations

from bench.timing import seconds_per_step
from bench.works import Work

STEPS_PER_LAUNCH = 13


def measure(work: Work, num_devices: int | None) -> float:  # noqa: ARG001
    import jax
    import jax.numpy as jnp
    import numpy as np

    data = jax.device_put(work.data())
    keys = jax.random.split(jax.random.key(0), 2)
    weights = {
        "w1": jax.random.normal(keys[0], (784, 64)) * 0.05,
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(keys[1], (64, 10)) * 0.1,
        "b2": jnp.zeros(10),
    }
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = (weights, zeros, jax.tree.map(jnp.zeros_like, weights), jnp.zeros(()))

    def loss(w, x, y):
        logits = jax.nn.relu(x @ w["w1"] + w["b1"]) @ w["w2"] + w["b2"]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
        return -picked.mean()

    def step(state, rows):
        w, m, v, t = state
        value, g = jax.value_and_grad(loss)(w, data[0][rows], data[1][rows])
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7), w, m, v)
        return (w, m, v, t), value

    many = jax.jit(lambda state, rows: jax.lax.scan(step, state, rows), donate_argnums=0)
    launches = work.num_rows // work.batch_size // STEPS_PER_LAUNCH
    steps = launches * STEPS_PER_LAUNCH

    def run() -> int:
        nonlocal state
        order = np.random.permutation(work.num_rows)[: steps * work.batch_size].astype("int32")
        for rows in order.reshape(launches, STEPS_PER_LAUNCH, work.batch_size):
            state, _ = many(state, rows)
        jax.block_until_ready(state)
        return steps

    run()
    return seconds_per_step(run)
