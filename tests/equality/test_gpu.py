"""On a GPU as on the CPU, in float64; skipped where there is none."""

from __future__ import annotations

import jax
import keras
import numpy as np
import pytest

import manyhands as mh
from tests.equality.cases import BY_NAME

GPUS = [d for d in jax.local_devices() if d.platform == "gpu"]
pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU here")


def losses(name, strategy):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(7)
    case = BY_NAME[name]
    data = case.data()
    with strategy.scope():
        model = case.build()
    model.fit(**data, batch_size=10, epochs=2, verbose=0)
    return model.history.history["loss"], model.get_weights()


@pytest.mark.parametrize("name", ["mlp", "cnn_batchnorm", "transformer", "random_layers"])
@pytest.mark.usefixtures("float64")
def test_every_gpu_equals_the_cpu(name):
    got, weights = losses(name, mh.MirroredStrategy())
    wanted, wanted_weights = losses(name, mh.OneDeviceStrategy("cpu:0"))
    np.testing.assert_allclose(got, wanted, rtol=1e-9)
    for one, other in zip(weights, wanted_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
