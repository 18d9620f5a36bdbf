"""Train on every GPU with a loop of your own."""

import manyhands as mh

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 20)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

strategy = mh.MirroredStrategy()
batches = mh.data.Dataset.from_tensor_slices((x, y)).batch(96)

with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2)])
    optimizer = keras.optimizers.Adam(0.01)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def step(features, labels):
    """Written for one device and the whole batch; compiled when it is first run."""
    with mh.GradientTape() as tape:
        loss = loss_of(labels, model(features, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


for _ in range(3):
    losses = [strategy.run(step, args=batch) for batch in strategy.distribute_dataset(batches)]
    print("loss", float(np.mean([float(loss) for loss in losses])))
