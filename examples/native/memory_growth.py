"""Take GPU memory as it is needed, and not all of it."""

import manyhands as mh

mh.config.set_memory_growth(True)  # or set_memory_fraction(0.5); before models and tensors are made

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
y = x[:, :1] * 2

with mh.MirroredStrategy().scope():
    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile("adam", "mse")
history = model.fit(x, y, epochs=2, batch_size=32, verbose=0)
for loss in history.history["loss"]:
    print("loss", loss)
print(mh.devices.table())
