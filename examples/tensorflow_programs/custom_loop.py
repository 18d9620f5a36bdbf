"""Train on every GPU with a loop of your own."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 20)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

strategy = tf.distribute.MirroredStrategy()
BATCH_SIZE = 96  # for all devices together; it need not divide
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH_SIZE)
dist_dataset = strategy.experimental_distribute_dataset(dataset)

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(2)]
    )
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction=tf.keras.losses.Reduction.NONE
    )


def train_step(inputs):
    features, labels = inputs
    with tf.GradientTape() as tape:
        logits = model(features, training=True)
        per_example = loss_object(labels, logits)
        loss = tf.nn.compute_average_loss(per_example, global_batch_size=BATCH_SIZE)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def distributed_train_step(inputs):
    per_replica = strategy.run(train_step, args=(inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)


for _ in range(3):
    total, batches = 0.0, 0
    for inputs in dist_dataset:
        total += distributed_train_step(inputs)
        batches += 1
    print("loss", (total / batches).numpy())
