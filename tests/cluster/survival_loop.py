"""What a process of the survival tests runs: a custom loop that can be resumed, by Checkpoint.

    manyhands run --processes 2 survival_loop.py DIRECTORY [--seconds-a-step S]

Process 0 prints the loss of the last steps and a digest of the weights.
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
parser.add_argument("--seconds-a-step", type=float, default=0.0)
options = parser.parse_args()
strategy = mh.MultiWorkerMirroredStrategy()

import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras.src.backend.common import dtypes  # noqa: E402

jax.config.update("jax_enable_x64", True)
keras.config.set_floatx("float64")
keras.config.set_dtype_policy("float64")
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # or Keras takes means in float32
index = 0 if strategy.group is None else strategy.group.index
keras.utils.set_random_seed(3)
rng = np.random.default_rng(0)
x, y = rng.normal(size=(83, 8)), rng.integers(0, 3, 83)
BATCH, STEPS = 16, 30

data = mh.data.Dataset.from_tensor_slices((x, y)).shuffle(83, seed=4).batch(BATCH).repeat()
with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dropout(0.2, seed=5),
            keras.layers.Dense(3),
        ]
    )
    optimizer = keras.optimizers.Adam(0.01)
    done = keras.Variable(0, dtype="int32", trainable=False)
loss_of = keras.losses.SparseCategoricalCrossentropy(True, reduction=None)
iterator = iter(strategy.experimental_distribute_dataset(data))
checkpoint = mh.checkpoint.Checkpoint(
    model=model, optimizer=optimizer, iterator=iterator, done=done
)
manager = mh.checkpoint.CheckpointManager(checkpoint, options.directory, max_to_keep=2)
manager.restore_or_initialize()


def step(features, labels):
    with mh.GradientTape() as tape:
        each = loss_of(labels, model(features, training=True))
        loss = keras.ops.sum(each) / BATCH
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


losses = []
while int(done.value) < STEPS:
    loss = strategy.run(step, args=next(iterator))
    losses.append(float(strategy.reduce("SUM", loss, axis=None)))
    done.assign_add(1)
    if int(done.value) % 3 == 0:
        manager.save()
    if int(done.value) == 1:
        print("training", flush=True)
    if not (Path(options.directory) / "hurry").exists():
        time.sleep(options.seconds_a_step)
manager.sync()
if index == 0:
    weights = model.get_weights()
    digest = hashlib.blake2b(b"".join(w.tobytes() for w in weights), digest_size=8).hexdigest()
    total = float(sum(np.abs(w).sum() for w in weights))
    print(json.dumps({"digest": digest, "total": total, "last": losses[-1]}), flush=True)
