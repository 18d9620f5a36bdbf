"""tf.distribute.MirroredStrategy and `fit`, Keras on TensorFlow."""

from __future__ import annotations

from bench.timing import seconds_per_step
from bench.works import Work


def measure(work: Work, num_devices: int | None) -> float:
    import tensorflow as tf

    count = num_devices or 1
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * count
    )
    from bench.keras_models import build

    x, y = work.data()
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)])
    with strategy.scope():
        model = build(work.name)
    model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)

    def run() -> int:
        model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)
        return work.steps_per_epoch

    return seconds_per_step(run)
