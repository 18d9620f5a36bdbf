"""Other layouts: every weight split over the devices, and unlike shares of rows, equal one device.

Nothing outside of a Layout knows that state is replicated or that shares are equal.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest

from manyhands.engine import SpmdEngine
from manyhands.strategies.strategy import Strategy
from tests.engine.steps import shared_layout, split_layout
from tests.equality.cases import CASES
from tests.equality.test_models import plain
from tests.oracle import assert_same, train_in
from tests.strategies.rows import X

pytestmark = pytest.mark.slow  # as many models as in test_models, three times

LAYOUTS = {
    "split weights": lambda: split_layout(2),
    "three to one": lambda: shared_layout(3, 1),
    "both": lambda: split_layout(4, (1, 2, 1, 3)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("float64")
def test_any_layout_equals_one_device(case, layout, tmp_path_factory):
    strategy = Strategy(SpmdEngine(LAYOUTS[layout]()))
    assert_same(train_in(strategy.scope(), case), plain(tmp_path_factory, case), rtol=1e-9)


def trained(layout=None):
    """Train by a custom loop; give the losses, the weights, and the optimizer's slots."""
    import manyhands as mh

    keras.utils.set_random_seed(3)
    strategy = mh.MirroredStrategy(["cpu:0"]) if layout is None else Strategy(SpmdEngine(layout))
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((X.shape[1],)), keras.layers.Dense(8, "relu"), keras.layers.Dense(4)]
        )
        optimizer = keras.optimizers.Adam(0.1)
        optimizer.build(model.trainable_variables)

    def step(x, y):
        with mh.GradientTape() as tape:
            loss = keras.ops.mean((model(x, training=True)[:, 0] - y) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    data = mh.data.Dataset.from_tensor_slices((X, X[:, 0])).batch(5)
    losses = [float(strategy.run(step, args=rows)) for rows in strategy.distribute_dataset(data)]
    return losses, model, optimizer


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("float64")
def test_a_custom_loop_on_any_layout_equals_one_device(layout):
    wanted, plain_model, _ = trained()
    found, model, optimizer = trained(LAYOUTS[layout]())
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for one, other in zip(model.get_weights(), plain_model.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    kernels = [model.layers[0].kernel, *(v for v in optimizer.variables if v.shape == (3, 8))]
    split = layout != "three to one"
    assert {v.value.sharding.is_fully_replicated for v in kernels} == {not split}
    if split:
        shapes = {shard.data.shape for v in kernels for shard in v.value.addressable_shards}
        assert shapes == {(3, 8 // len(model.layers[0].kernel.value.sharding.device_set))}
