"""Shards made by hand, run one by one."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(800, 10)).astype("float32")
y = x.sum(axis=1, keepdims=True).astype("float32")

strategy = tf.distribute.MirroredStrategy()
NUM_SHARDS = 5
shards = [
    tf.data.Dataset.from_tensor_slices((x, y)).shard(NUM_SHARDS, i).batch(64)
    for i in range(NUM_SHARDS)
]

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)]
    )
    optimizer = tf.keras.optimizers.SGD(0.05)


def train_step(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features, training=True) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for _ in range(2):
    for number, shard in enumerate(shards):
        for features, targets in shard:
            loss = strategy.run(train_step, args=(features, targets))
        print("shard", number)
        print("loss", strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None).numpy())
