"""What a process of the survival tests runs: a `fit` that can be resumed.

    manyhands run --processes 2 survival_program.py DIRECTORY [--float64] [--seconds-a-step S]

Process 0 prints the losses and a digest of the weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path

import manyhands as mh

parser = argparse.ArgumentParser()
parser.add_argument("directory")
parser.add_argument("--float64", action="store_true")
parser.add_argument("--seconds-a-step", type=float, default=0.0)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--every-steps", type=int, default=3)
parser.add_argument("--early", action="store_true", help="stop when it gets no better")
options = parser.parse_args()
strategy = mh.MultiWorkerMirroredStrategy()

import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras.src.backend.common import dtypes  # noqa: E402

if options.float64:
    jax.config.update("jax_enable_x64", True)
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # or Keras takes means in float32
index = 0 if strategy.group is None else strategy.group.index
keras.utils.set_random_seed(3 + index)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(83, 8)), rng.integers(0, 3, 83)


class Slowly(keras.callbacks.Callback):
    """Takes its time, so that somebody can interfere, until a file says to hurry."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 0:
            print(f"training since {time.time():.0f}", flush=True)
        if not (Path(options.directory) / "hurry").exists():
            time.sleep(options.seconds_a_step)


with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(3),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True), metrics=["accuracy"])
resume = mh.callbacks.Resume(options.directory, every_steps=options.every_steps)
callbacks = [resume, Slowly()]
if options.early:
    best = keras.callbacks.EarlyStopping("loss", 0.05, patience=3, restore_best_weights=True)
    callbacks.append(best)
history = model.fit(
    x, y, batch_size=16, epochs=options.epochs, verbose=0, callbacks=callbacks
).history
if index == 0:
    weights = model.get_weights()
    digest = hashlib.blake2b(b"".join(w.tobytes() for w in weights), digest_size=8).hexdigest()
    total = float(sum(np.abs(w).sum() for w in weights))
    told = {"digest": digest, "total": total, "loss": history["loss"], "rows": len(x)}
    print(json.dumps(told), flush=True)
