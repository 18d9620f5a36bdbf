"""What a step of a custom loop costs beside a step of `fit`, one step a launch for both.

python -m bench.custom_loop                  the MLP 784-64-10 at batch 128, on what is here
python -m bench.custom_loop --devices 4      on four virtual CPU devices
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import manyhands as mh
from bench.__main__ import RESULTS
from bench.machine import describe

REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.custom_loop", description=__doc__)
    parser.add_argument("--devices", type=int, default=0, help="virtual CPU devices")
    parser.add_argument("--name", default="custom-loop", help="name of the result file")
    options = parser.parse_args()
    if options.devices:
        mh.config.set_virtual_devices(options.devices)
    mh.config.set_steps_per_dispatch(1)
    mh.config.set_data_on_device("never")
    found = measured()
    found["ratio"] = round(found["run_ms"] / found["fit_ms"], 3)
    result = {
        "command": f"python -m bench.custom_loop --devices {options.devices}",
        "machine": describe(),
        **found,
    }
    out = RESULTS / f"{options.name}.json"
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(found))


def measured() -> dict[str, float]:
    import keras

    from bench.keras_models import build
    from bench.works import WORKS

    work = WORKS["mlp"]
    x, y = work.data()
    x, y = x[: work.batch_size * 200], y[: work.batch_size * 200]
    strategy = mh.MirroredStrategy()
    with strategy.scope():
        model = build(work.name)
        optimizer = keras.optimizers.Adam()
        metric = keras.metrics.SparseCategoricalAccuracy()
        mean = keras.metrics.Mean()
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    data = mh.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=1).batch(work.batch_size)
    batches = strategy.distribute_dataset(data)

    def step(features, labels):
        with mh.GradientTape() as tape:
            logits = model(features, training=True)
            loss = loss_of(labels, logits)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        metric.update_state(labels, logits)
        mean.update_state(loss)
        return loss

    def looped() -> None:
        for batch in batches:
            loss = strategy.run(step, args=batch)
        float(loss)

    def fitted() -> None:
        model.fit(x, y, batch_size=work.batch_size, epochs=1, verbose=0)

    timed(looped)
    timed(fitted)
    pairs = [(timed(fitted), timed(looped)) for _ in range(REPEATS)]
    fit_s, run_s = (statistics.median(times) for times in zip(*pairs, strict=True))
    return {"fit_ms": round(fit_s / 200 * 1e3, 4), "run_ms": round(run_s / 200 * 1e3, 4)}


def timed(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
