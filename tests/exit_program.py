"""Leaves one of each kind of object alive at its end, for tests/test_exit.py; says nothing."""

from __future__ import annotations

import builtins
import sys
import tempfile
import threading
import time

import manyhands as mh

mh.config.set_virtual_devices(2)

import keras  # noqa: E402
import numpy as np  # noqa: E402

import manyhands.tf as tf  # noqa: E402

X, Y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")
Dataset, strategy, folder = mh.data.Dataset, mh.MirroredStrategy(), tempfile.mkdtemp()
kept = []


def begun(dataset, count=1):
    iterator = iter(dataset)
    for _ in range(count):
        next(iterator)
    kept.append(iterator)


def slow(x):
    time.sleep(0.001)
    return x


def rows():
    while True:
        yield X[:4], Y[:4]


batches = Dataset.from_tensor_slices((X, Y)).batch(4)
begun(strategy.distribute_dataset(batches.prefetch(2)))
begun(strategy.distribute_datasets_from_function(lambda context: batches))
begun(batches.prefetch(3))
begun(Dataset.range(50).map(slow, num_parallel_calls=4).prefetch(-1), 5)
begun(Dataset.from_generator(rows).prefetch(2))
begun(Dataset.range(9).interleave(lambda x: Dataset.range(9), 3, num_parallel_calls=3))
begun(Dataset.range(9).cache().shuffle(3).window(2))
begun(Dataset.range(9).cache(f"{folder}/cache"))
begun(mh.data.TextLineDataset([__file__]).prefetch(1))
begun(Dataset.range(9).group_by_window(lambda x: x % 2, lambda key, window: window, 3))

with strategy.scope():
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(rows(), steps_per_epoch=3, shuffle=False, verbose=0)
model.fit(batches.repeat(), steps_per_epoch=3, verbose=0)

function = tf.function(lambda x: x + 1)
function(X)
tape = mh.GradientTape(persistent=True)
tape.__enter__()
checkpoint = mh.checkpoint.Checkpoint(model=model)
checkpoint.save(f"{folder}/saved")
writer = tf.summary.create_file_writer(folder)
with writer.as_default():
    tf.summary.scalar("a", 1.0, step=1)
records = mh.data.TFRecordWriter(f"{folder}/records")
records.write(b"x")
kept += [model, strategy, function, tape, checkpoint, writer, records]

if "in builtins" in sys.argv:
    builtins.kept_to_the_last = kept
if "in a thread" in sys.argv:
    threading.Thread(target=lambda held: time.sleep(0.1), args=(kept,)).start()
if "in a circle" in sys.argv:
    kept.append(kept)
    del model, strategy, function, tape, checkpoint, writer, records, kept
if "after an error" in sys.argv:
    sys.excepthook = lambda *error: None
    raise ValueError
