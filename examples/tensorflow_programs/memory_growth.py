"""Take GPU memory as it is needed, and not all of it."""

import numpy as np
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
print("GPUs:", len(gpus))
try:
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    print("logical GPUs:", len(tf.config.list_logical_devices("GPU")))
except RuntimeError as error:  # memory growth must be set before GPUs have been initialized
    print(error)

tf.random.set_seed(0)
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
y = x[:, :1] * 2

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
history = model.fit(x, y, epochs=2, batch_size=32, verbose=0)
for loss in history.history["loss"]:
    print("loss", loss)
for i in range(len(gpus)):
    print(f"GPU:{i}", tf.config.experimental.get_memory_info(f"GPU:{i}"))
