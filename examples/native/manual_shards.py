"""Shards made by hand, run one by one."""

import manyhands as mh

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(800, 10)).astype("float32")
y = x.sum(axis=1, keepdims=True).astype("float32")

strategy = mh.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.05)


def step(features, targets):
    with mh.GradientTape() as tape:
        loss = keras.ops.mean(keras.ops.square(model(features, training=True) - targets))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


for _ in range(2):
    for number in range(5):
        shard = slice(number, None, 5)
        rows, targets = x[shard], y[shard]
        for start in range(0, len(rows), 64):
            loss = strategy.run(step, args=(rows[start : start + 64], targets[start : start + 64]))
        print("shard", number)
        print("loss", float(loss))
