"""Train one model on several processes or machines, and survive the loss of any of them.

    manyhands run --processes 2 --max-restarts 5 examples/multi_worker.py     # on this machine
    srun manyhands run examples/multi_worker.py                               # under Slurm
    TF_CONFIG=… python examples/multi_worker.py                               # one for each worker

The losses that it prints are the same on any number of processes.
"""

import argparse

import manyhands as mh

parser = argparse.ArgumentParser()
parser.add_argument("--directory", help="where checkpoints are kept, to go on from")
parser.add_argument("--epochs", type=int, default=3)
options = parser.parse_args()

strategy = mh.MultiWorkerMirroredStrategy()  # first thing: it connects to the others

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 20)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

with strategy.scope():
    model = keras.Sequential(
        [
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(2),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

callbacks = [mh.callbacks.Resume(options.directory, every_steps=5)] if options.directory else []
history = model.fit(
    x, y, batch_size=96, epochs=options.epochs, verbose=0, callbacks=callbacks
)  # batch_size is the global batch, however many processes there are

if strategy.group is None or strategy.group.index == 0:
    print("replicas", strategy.num_replicas_in_sync)
    for loss in history.history["loss"]:
        print("loss", loss)
