from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
from tests.equality.cases import _classes, mlp

DATA = _classes()


def steps(num_devices):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    model = mlp()
    if num_devices:
        mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).adopt(model)
    seen = []
    for size in (8, 5, 1):
        x, y = DATA["x"][:size], DATA["y"][:size]
        seen += model.train_on_batch(x, y)
        seen += model.train_on_batch(x, y, sample_weight=np.linspace(0, 1, size))
        seen += model.train_on_batch(x, y, class_weight={0: 2.0, 1: 1.0, 2: 0.5, 3: 1.0})
        seen += model.test_on_batch(x, y)
        seen += model.predict_on_batch(x).ravel().tolist()
        seen += list(model.train_on_batch(x, y, return_dict=True).values())
    return seen, model.get_weights()


@pytest.mark.parametrize("num_devices", [1, 4])
@pytest.mark.usefixtures("float64")
def test_single_batches_equal_one_device(num_devices):
    (got, weights), (wanted, wanted_weights) = steps(num_devices), steps(None)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    for one, other in zip(weights, wanted_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_weights_live_on_every_device():
    strategy = mh.MirroredStrategy(["cpu:1", "cpu:3"])
    with strategy.scope():
        model = mlp()
    model.train_on_batch(DATA["x"], DATA["y"])
    for variable in (*model.variables, *model.optimizer.variables):
        assert variable.value.sharding.device_set == set(strategy.devices)
    outputs = model(DATA["x"][:3])  # eager calls work on mirrored weights too
    np.testing.assert_allclose(outputs, model.predict(DATA["x"][:3], verbose=0), rtol=1e-5)
