"""A gradient inside a loss: two tapes, one around the other, on every device."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
x = np.random.default_rng(0).normal(size=(240, 5)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True)).astype("float32")
strategy = tf.distribute.MirroredStrategy()
dataset = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(50)
)

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1)]
    )
    optimizer = tf.keras.optimizers.Adam(0.01)
    mean_loss = tf.keras.metrics.Mean()


@tf.function
def train_step(inputs):
    def step(features, targets):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(features)
                predictions = model(features, training=True)
            slopes = inner.gradient(predictions, features)
            penalty = tf.reduce_mean(tf.square(tf.norm(slopes, axis=1) - 1.0))
            loss = tf.reduce_mean(tf.square(predictions - targets)) + 0.1 * penalty
        gradients = outer.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean_loss.update_state(loss)

    strategy.run(step, args=inputs)


for _ in range(3):
    mean_loss.reset_state()
    for inputs in dataset:
        train_step(inputs)
    print("loss", mean_loss.result().numpy())
