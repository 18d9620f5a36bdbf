"""manyhands: `fit` under MirroredStrategy, data in host NumPy arrays."""

from __future__ import annotations

from bench.timing import seconds_per_step
from bench.works import Work


def measure(work: Work, num_devices: int | None) -> float:
    import manyhands as mh

    if num_devices:
        mh.config.set_virtual_devices(num_devices)
    mh.config.set_data_on_device(work.data_on_device)
    from bench.keras_models import build

    x, y = work.data()
    with mh.MirroredStrategy().scope():
        model = build(work.name)
    model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)

    def run() -> int:
        model.fit(x, y, batch_size=work.batch_size, epochs=work.epochs, verbose=0)
        return work.epochs * work.steps_per_epoch

    return seconds_per_step(run)
