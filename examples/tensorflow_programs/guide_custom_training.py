"""A loop with test metrics, checkpoints and `compute_average_loss`, in the shape of the guides."""

import os
import tempfile

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
pictures = rng.random((520, 12, 12, 1)).astype("float32")
classes = (pictures[:, :6].mean((1, 2, 3)) > pictures[:, 6:].mean((1, 2, 3))).astype("int64")
GLOBAL_BATCH_SIZE, EPOCHS = 64, 3

strategy = tf.distribute.MirroredStrategy()
print("devices:", strategy.num_replicas_in_sync)


def distributed(rows, shuffle):
    dataset = tf.data.Dataset.from_tensor_slices((pictures[rows], classes[rows]))
    if shuffle:
        dataset = dataset.shuffle(400, seed=5)
    return strategy.experimental_distribute_dataset(dataset.batch(GLOBAL_BATCH_SIZE))


train_data = distributed(slice(0, 400), shuffle=True)
test_data = distributed(slice(400, None), shuffle=False)

with strategy.scope():
    l2 = tf.keras.regularizers.L2(1e-4)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(6, 3, activation="relu", kernel_regularizer=l2),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(2, kernel_regularizer=l2),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(0.01)
    cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction=tf.keras.losses.Reduction.NONE
    )
    train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    test_loss = tf.keras.metrics.Mean()
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)


def train_step(inputs):
    images, labels = inputs
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.nn.compute_average_loss(cross_entropy(labels, logits))
        loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_accuracy.update_state(labels, logits)
    return loss


def test_step(inputs):
    images, labels = inputs
    logits = model(images, training=False)
    test_loss.update_state(cross_entropy(labels, logits))
    test_accuracy.update_state(labels, logits)


@tf.function
def distributed_train_step(inputs):
    per_replica = strategy.run(train_step, args=(inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)


@tf.function
def distributed_test_step(inputs):
    strategy.run(test_step, args=(inputs,))


@tf.function
def distributed_epoch(data):
    total, count = 0.0, 0
    for inputs in data:
        total += strategy.reduce("SUM", strategy.run(train_step, args=(inputs,)), axis=None)
        count += 1
    return total / tf.cast(count, tf.float32)


folder = tempfile.mkdtemp()
for epoch in range(EPOCHS):
    losses = [distributed_train_step(inputs) for inputs in train_data]
    for inputs in test_data:
        distributed_test_step(inputs)
    checkpoint.save(os.path.join(folder, "ckpt"))
    print(
        f"epoch {epoch + 1}: accuracy {train_accuracy.result():.3f}, "
        f"test loss {test_loss.result():.3f}, test accuracy {test_accuracy.result():.3f}"
    )
    print("loss", float(tf.add_n(losses) / len(losses)))
    for metric in (train_accuracy, test_accuracy, test_loss):
        metric.reset_state()

print("loss", float(distributed_epoch(train_data)))  # the whole epoch as one tf.function

iterator = iter(train_data)
print("loss", float(distributed_train_step(next(iterator))))  # an iterator instead of a for loop

# Back to the last checkpoint, without a strategy.
restored = tf.keras.models.clone_model(model)
tf.train.Checkpoint(model=restored).restore(tf.train.latest_checkpoint(folder)).expect_partial()
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
accuracy.update_state(classes[400:], restored(pictures[400:]))
print("accuracy of the restored model:", float(accuracy.result()))
print("loss", 1 - float(accuracy.result()))
