"""Datasets in programs without any strategy: Keras' own fit, evaluate and predict take them."""

from __future__ import annotations

import pytest

from tests.programs import output_of

BEGINNINGS = {
    "keras first": "import keras; import manyhands as mh; Dataset = mh.data.Dataset",
    "keras last": "from manyhands import data; Dataset = data.Dataset",
}

PROGRAM = """
import numpy as np
x = np.arange(24, dtype=">f4").reshape(8, 3) / 24
y = x.sum(1, keepdims=True)
dataset = Dataset.from_tensor_slices((x, y)).batch(3)
import keras

def made():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

ours, plain = made(), made()
found = ours.fit(dataset, epochs=2, verbose=0, validation_data=dataset).history
x, y = x.astype("f4"), y.astype("f4")
wanted = plain.fit(x, y, batch_size=3, shuffle=False, epochs=2, verbose=0,
                   validation_data=(x, y), validation_batch_size=3).history
assert found == wanted, (found, wanted)
assert ours.evaluate(dataset, verbose=0) == plain.evaluate(x, y, batch_size=3, verbose=0)
assert (ours.predict(dataset, verbose=0) == plain.predict(x, batch_size=3, verbose=0)).all()
assert len(ours.fit(dataset.repeat(), steps_per_epoch=5, verbose=0).history["loss"]) == 1
import manyhands
spread = manyhands.MirroredStrategy().distribute_dataset(dataset)
assert ours.evaluate(spread, verbose=0) == ours.evaluate(dataset, verbose=0)
assert ours.predict(spread, verbose=0).shape == (8, 1)
assert np.isfinite(ours.fit(spread, verbose=0).history["loss"][0])
"""


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_program_without_a_strategy_fits_a_dataset(beginning):
    output_of(BEGINNINGS[beginning] + PROGRAM, fresh=True, KERAS_BACKEND="jax")
