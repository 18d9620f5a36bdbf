"""One process of `bench.processes`: times a `fit` of plain layers."""

from __future__ import annotations

import json
import sys
import time

import manyhands as mh

strategy = mh.MultiWorkerMirroredStrategy()

import keras  # noqa: E402
import numpy as np  # noqa: E402

width, layers = int(sys.argv[1]), int(sys.argv[2])
x = np.ones((128 * 50, width), "float32")
keras.utils.set_random_seed(1)
with strategy.scope():
    model = keras.Sequential(
        [keras.Input((width,)), *(keras.layers.Dense(width, "tanh") for _ in range(layers))]
    )
    model.compile("sgd", "mse")
mh.config.set_steps_per_dispatch(1)
model.fit(x, x, batch_size=128, epochs=1, verbose=0)
began_s = time.perf_counter()
model.fit(x, x, batch_size=128, epochs=4, verbose=0)
step_ms = (time.perf_counter() - began_s) / 200 * 1e3
if strategy.group is None or strategy.group.index == 0:
    print(json.dumps({"step_ms": round(step_ms, 3)}))
