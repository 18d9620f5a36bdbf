"""A loop that saves as it goes, and goes on where it stopped when started again.

manyhands run checkpoint_resume.py FOLDER
"""

import sys
import tempfile

import numpy as np
import tensorflow as tf

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
stop_after = int(sys.argv[2]) if len(sys.argv) > 2 else 6  # epochs in all

tf.random.set_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(500, 20)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

strategy = tf.distribute.MirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)
dist_dataset = strategy.experimental_distribute_dataset(dataset)

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)]
    )
    optimizer = tf.keras.optimizers.Adam(0.01)
    epoch = tf.Variable(0)
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch)

manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
if manager.latest_checkpoint:
    checkpoint.restore(manager.latest_checkpoint)
    print("restored", manager.latest_checkpoint)


@tf.function
def train_step(inputs):
    def step(inputs):
        features, labels = inputs
        with tf.GradientTape() as tape:
            loss = loss_object(labels, model(features, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return strategy.reduce("MEAN", strategy.run(step, args=(inputs,)), axis=None)


while int(epoch) < stop_after:
    losses = [float(train_step(inputs)) for inputs in dist_dataset]
    epoch.assign_add(1)
    manager.save()
    print("epoch", int(epoch))
    print("loss", sum(losses) / len(losses))
