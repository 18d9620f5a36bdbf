"""Keras' own jitted train_step on one batch that is already on the device: no input, no loop."""

from __future__ import annotations

from bench.timing import seconds_per_step
from bench.works import Work

STEPS = {"mlp": 500, "resnet50": 40, "gpt2": 30}


def measure(work: Work, num_devices: int | None) -> float:  # noqa: ARG001
    import jax

    from bench.keras_models import build

    model = build(work.name)
    batch = jax.device_put(work.one_batch())
    model._symbolic_build(data_batch=batch)
    state = model._get_jax_state(
        trainable_variables=True,
        non_trainable_variables=True,
        optimizer_variables=True,
        metrics_variables=True,
    )
    step = jax.jit(model.train_step, donate_argnums=0)
    steps = STEPS[work.name.split("-")[0]]

    def run() -> int:
        nonlocal state
        for _ in range(steps):
            _, state = step(state, batch)
        jax.block_until_ready(state)
        return steps

    run()
    return seconds_per_step(run)
