"""Save and load a model under a strategy, in the shape of TensorFlow's guide."""

import os
import tempfile

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
mirrored_strategy = tf.distribute.MirroredStrategy()
rng = np.random.default_rng(0)
x = rng.normal(size=(400, 12)).astype("float32")
y = (x[:, 0] > 0).astype("int64")


def get_data():
    train = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(400, seed=3).batch(64)
    return train, tf.data.Dataset.from_tensor_slices((x, y)).batch(64)


def get_model():
    with mirrored_strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)]
        )
        model.compile(
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            optimizer=tf.keras.optimizers.Adam(),
            metrics=[tf.metrics.SparseCategoricalAccuracy()],
        )
        return model


model = get_model()
train_dataset, eval_dataset = get_data()
model.fit(train_dataset, epochs=2, verbose=0)
print("loss", model.evaluate(eval_dataset, verbose=0)[0])

path = os.path.join(tempfile.mkdtemp(), "keras_save.keras")
model.save(path)

restored = tf.keras.models.load_model(path)
restored.fit(train_dataset, epochs=2, verbose=0)
print("loss", restored.evaluate(eval_dataset, verbose=0)[0])

one_device = tf.distribute.OneDeviceStrategy("/cpu:0")
with one_device.scope():
    on_one = tf.keras.models.load_model(path)
    print("loss", on_one.evaluate(eval_dataset, verbose=0)[0])
