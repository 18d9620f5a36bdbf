"""A loop that saves as it goes, and goes on where it stopped when started again.

python checkpoint_resume.py FOLDER
"""

import sys
import tempfile

import manyhands as mh

import keras
import numpy as np

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
stop_after = int(sys.argv[2]) if len(sys.argv) > 2 else 6  # epochs in all

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(500, 20)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

strategy = mh.MirroredStrategy()
batches = mh.data.Dataset.from_tensor_slices((x, y)).batch(64)

with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2)])
    optimizer = keras.optimizers.Adam(0.01)
    epoch = keras.Variable(0, dtype="int32", trainable=False)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

checkpoint = mh.checkpoint.Checkpoint(model=model, optimizer=optimizer, epoch=epoch)
manager = mh.checkpoint.CheckpointManager(checkpoint, folder, max_to_keep=2)
manager.restore_or_initialize()


def step(features, labels):
    with mh.GradientTape() as tape:
        loss = loss_of(labels, model(features, training=True))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


while int(epoch.value) < stop_after:
    losses = [
        float(strategy.run(step, args=batch)) for batch in strategy.distribute_dataset(batches)
    ]
    epoch.assign_add(1)
    manager.save()
    print("epoch", int(epoch.value))
    print("loss", sum(losses) / len(losses))
