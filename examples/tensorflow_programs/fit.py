"""Train on every GPU with compile and fit."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 20)).astype("float32")
y = (x[:, :4].sum(axis=1) > 0).astype("int32")

strategy = tf.distribute.MirroredStrategy()
print("devices:", strategy.num_replicas_in_sync)

with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dropout(0.2),
            tf.keras.layers.Dense(2),
        ]
    )
    model.compile(
        optimizer=tf.keras.optimizers.Adam(0.01),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

history = model.fit(x, y, batch_size=96, epochs=3, verbose=0)
for loss in history.history["loss"]:
    print("loss", loss)
print("loss", model.evaluate(x, y, verbose=0)[0])
