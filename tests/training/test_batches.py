"""Any batch size, any data set length: no row dropped, none counted twice."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers

import manyhands as mh
from tests.equality.cases import BY_NAME, _classes, mlp
from tests.oracle import Case, assert_same, train


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(
    ("rows", "batch_size"),
    [(1, 32), (3, 32), (7, 2), (16, 8), (17, 8), (25, 127)],
    ids=lambda v: str(v),
)
@pytest.mark.usefixtures("float64")
def test_any_batch_size_and_length(rows, batch_size, num_devices):
    case = Case("mlp", mlp, lambda: _classes(rows=rows), {"batch_size": batch_size, "epochs": 2})
    assert_same(train(case, num_devices), train(case, None), rtol=1e-9)


class Counter(layers.Layer):
    """Counts the rows it has seen in training, and sums them."""

    def __init__(self):
        super().__init__()
        self.rows = self.add_weight((), "zeros", dtype="float32", trainable=False)
        self.total = self.add_weight((), "zeros", dtype="float32", trainable=False)

    def call(self, x, training=False):
        if training:
            self.rows.assign_add(float(x.shape[0]))
            self.total.assign_add(keras.ops.sum(x))
        return x


@settings(deadline=None, max_examples=15)
@given(
    rows=st.integers(1, 50),
    batch_size=st.integers(1, 60),
    num_devices=st.sampled_from([2, 3, 4, 8]),
    shuffle=st.booleans(),
    on_device=st.sampled_from(["auto", "never"]),
)
def test_every_row_is_seen_exactly_once_an_epoch(rows, batch_size, num_devices, shuffle, on_device):
    mh.config.set_data_on_device(on_device)
    try:
        with mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).scope():
            counter = Counter()
            model = keras.Sequential([keras.Input((1,)), counter, layers.Dense(1)])
        model.compile("sgd", "mse")
        x = np.arange(1.0, rows + 1, dtype="float32")[:, None]
        model.fit(x, x, batch_size=batch_size, epochs=2, verbose=0, shuffle=shuffle)
        assert float(counter.rows.value) == 2 * rows
        assert float(counter.total.value) == 2 * x.sum()
        assert model.predict(x, batch_size=batch_size, verbose=0).shape == (rows, 1)
    finally:
        mh.config.set_data_on_device("auto")


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.usefixtures("float64")
def test_the_number_of_steps_a_launch_changes_nothing(steps):
    wanted = train(BY_NAME["mlp"], None)
    mh.config.set_steps_per_dispatch(steps)
    try:
        assert_same(train(BY_NAME["mlp"], 4), wanted, rtol=1e-9)
    finally:
        mh.config.set_steps_per_dispatch(None)


@pytest.mark.parametrize("shuffle", [True, False, "batch"])
@pytest.mark.parametrize("on_device", ["auto", "never"])
@pytest.mark.usefixtures("float64")
def test_where_the_data_lives_and_how_it_is_shuffled_change_nothing(on_device, shuffle):
    case = Case("mlp", mlp, _classes, {"shuffle": shuffle, "epochs": 3})
    wanted = train(case, None)
    mh.config.set_data_on_device(on_device)
    try:
        assert_same(train(case, 3), wanted, rtol=1e-9)
    finally:
        mh.config.set_data_on_device("auto")


@pytest.mark.parametrize("extra", [{"steps_per_epoch": 2}, {"steps_per_epoch": 5}])
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.usefixtures("float64")
def test_steps_per_epoch(extra):
    case = Case("mlp", mlp, lambda: _classes(rows=64), {"epochs": 4, **extra})
    assert_same(train(case, 3), train(case, None), rtol=1e-9)


@pytest.mark.usefixtures("float64")
def test_a_second_fit_shuffles_as_in_keras_after_an_early_stop():
    """The next epoch's order is drawn early; stopping must give the draw back."""

    def run(num_devices):
        keras.utils.set_random_seed(3)
        data = _classes(rows=40)
        model = mlp()
        if num_devices:
            mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).adopt(model)
        stop = keras.callbacks.EarlyStopping("loss", min_delta=1e9, patience=1)
        first = model.fit(data["x"], data["y"], epochs=9, batch_size=8, verbose=0, callbacks=[stop])
        second = model.fit(data["x"], data["y"], epochs=2, batch_size=8, verbose=0)
        return first.history["loss"] + second.history["loss"], np.random.random()

    (got, got_random), (wanted, wanted_random) = run(4), run(None)
    np.testing.assert_allclose(got, wanted, rtol=1e-9)
    assert got_random == wanted_random
