"""Plain Keras `fit` on one device, data in host NumPy arrays."""

from __future__ import annotations

from bench.timing import seconds_per_step
from bench.works import Work


def measure(work: Work, num_devices: int | None) -> float:  # noqa: ARG001
    from bench.keras_models import build

    x, y = work.data()
    model = build(work.name)
    model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)

    def run() -> int:
        model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)
        return work.steps_per_epoch

    return seconds_per_step(run)
