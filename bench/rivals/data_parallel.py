"""`keras.distribution.DataParallel` and `fit`; its batch must divide, so rows are cut to fit."""

from __future__ import annotations

from bench.timing import seconds_per_step
from bench.works import Work


def measure(work: Work, num_devices: int | None) -> float:
    import jax

    if num_devices:
        jax.config.update("jax_num_cpu_devices", num_devices)
    import keras

    from bench.keras_models import build

    rows = work.num_rows // work.batch_size * work.batch_size
    x, y = (part[:rows] for part in work.data())
    distribution = keras.distribution.DataParallel()
    with distribution.scope():
        model = build(work.name)
        model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)

        def run() -> int:
            model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)
            return rows // work.batch_size

        return seconds_per_step(run)
