"""A cached, shuffled, prefetched pipeline, given to fit."""

import manyhands as mh

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.integers(0, 256, size=(600, 8, 8, 1)).astype("uint8")
labels = (images.mean(axis=(1, 2, 3)) > 127).astype("int32")

strategy = mh.MirroredStrategy()
train = (
    mh.data.Dataset.from_tensor_slices((images, labels))
    .map(lambda image, label: (keras.ops.cast(image, "float32") / 255.0, label))
    .cache()
    .shuffle(600, seed=7)
    .batch(50)
    .prefetch(2)
)
print(train.explain())

with strategy.scope():
    model = keras.Sequential(
        [
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))

history = model.fit(train, epochs=3, verbose=0)
for loss in history.history["loss"]:
    print("loss", loss)
