"""A cached, shuffled, prefetched pipeline, distributed and given to fit."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
images = rng.integers(0, 256, size=(600, 8, 8, 1)).astype("uint8")
labels = (images.mean(axis=(1, 2, 3)) > 127).astype("int64")

strategy = tf.distribute.MirroredStrategy()


def scale(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


train = (
    tf.data.Dataset.from_tensor_slices((images, labels))
    .map(scale, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()
    .shuffle(600, seed=7)
    .batch(50)
    .prefetch(tf.data.AUTOTUNE)
)
dist_train = strategy.experimental_distribute_dataset(train)

with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(4, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(2),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

history = model.fit(dist_train, epochs=3, verbose=0)
for loss in history.history["loss"]:
    print("loss", loss)
