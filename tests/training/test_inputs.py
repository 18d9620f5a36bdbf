"""Any input that Keras takes, with the numbers that Keras gives."""

from __future__ import annotations

import importlib.util

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pandas as pd
import pytest

import manyhands as mh
from tests.equality.cases import _classes, mlp

ROWS, BATCH = 27, 10
DATA = _classes()


def batches():
    for i in range(0, ROWS, BATCH):
        yield DATA["x"][i : i + BATCH], DATA["y"][i : i + BATCH]


def endless():
    while True:
        yield from batches()


class Rows(keras.utils.PyDataset):
    def __init__(self, **workers):
        super().__init__(**workers)
        self.ended = 0

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return list(batches())[i]

    def on_epoch_end(self):
        self.ended += 1


def frames():
    columns = [f"c{i}" for i in range(6)]
    return {"x": pd.DataFrame(DATA["x"], columns=columns), "y": pd.Series(DATA["y"])}


def tf_dataset():
    import tensorflow as tf

    return {"x": tf.data.Dataset.from_tensor_slices((DATA["x"], DATA["y"])).batch(BATCH)}


def torch_loader():
    import torch

    data = torch.utils.data.TensorDataset(torch.from_numpy(DATA["x"]), torch.from_numpy(DATA["y"]))
    return {"x": torch.utils.data.DataLoader(data, batch_size=BATCH)}


def needs(package):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


SMALL = {"batch_size": BATCH}
INPUTS = {
    "arrays": lambda: dict(DATA, **SMALL),
    "jax_arrays": lambda: {"x": jnp.asarray(DATA["x"]), "y": jnp.asarray(DATA["y"]), **SMALL},
    "pandas": lambda: frames() | SMALL,
    "validation_data": lambda: dict(DATA, **SMALL, validation_data=(DATA["x"][:9], DATA["y"][:9])),
    "validation_split": lambda: dict(DATA, **SMALL, validation_split=0.3),
    "validation_batch_size": lambda: dict(
        DATA, **SMALL, validation_split=0.3, validation_batch_size=3, validation_freq=2
    ),
    "py_dataset": lambda: {"x": Rows()},
    "py_dataset_threads": lambda: {"x": Rows(workers=2, use_multiprocessing=False)},
    "generator": lambda: {"x": endless(), "steps_per_epoch": 3},
    "validation_generator": lambda: dict(
        DATA, **SMALL, validation_data=endless(), validation_steps=2
    ),
    "steps_per_execution": lambda: dict(DATA, **SMALL),
    "eager": lambda: dict(DATA, **SMALL),
    "default_batch_size": lambda: dict(DATA),
    "tf_data": tf_dataset,
    "torch": torch_loader,
}
reads_ahead = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="Keras on a GPU takes a batch ahead, and loses it here"
)
MARKS = {"py_dataset_threads": reads_ahead, "tf_data": needs("tensorflow"), "torch": needs("torch")}


def run(name, num_devices):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    model = mlp()
    options = {"steps_per_execution": 2} if name == "steps_per_execution" else {}
    if name == "eager":
        options = {"run_eagerly": True}
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], **options)
    if num_devices:
        mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).adopt(model)
    given = INPUTS[name]()
    history = model.fit(epochs=2, verbose=0, shuffle=False, **given)
    return history.history, model.get_weights()


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in INPUTS])
@pytest.mark.filterwarnings("ignore:Your input ran out of data", "ignore::DeprecationWarning")
@pytest.mark.usefixtures("float64")
def test_every_kind_of_input(name):
    history, weights = run(name, 4)
    wanted, wanted_weights = run(name, None)
    assert history.keys() == wanted.keys()
    for key, values in wanted.items():
        np.testing.assert_allclose(history[key], values, rtol=1e-9, atol=1e-12, err_msg=key)
    for one, other in zip(weights, wanted_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def fitted(**given):
    with mh.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        model = mlp()
    model.fit(epochs=2, verbose=0, shuffle=False, **given)
    return model


def test_a_generator_is_asked_for_no_more_than_is_used():
    asked = []

    def counted():
        for i, batch in enumerate(endless()):
            asked.append(i)
            yield batch

    fitted(x=counted(), steps_per_epoch=3)
    assert len(asked) <= 2 * 3 + 1  # Keras itself looks at the first batch


def test_epoch_hooks_of_a_py_dataset_are_called():
    rows = Rows()
    fitted(x=rows)
    assert rows.ended >= 2


def test_dtypes_travel_unchanged():
    seen = []

    class Spy(keras.layers.Layer):
        def call(self, x):
            seen.append(x.dtype)
            return keras.ops.cast(x, "float32")

    with mh.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        x = keras.Input((3,), dtype="uint8")
        model = keras.Model(x, keras.layers.Dense(1)(Spy()(x)))
    model.compile("sgd", "mse")
    model.fit(np.ones((9, 3), "uint8"), np.ones(9), batch_size=4, verbose=0)
    assert {str(dtype) for dtype in seen} == {"uint8"}


def test_an_error_in_a_generator_reaches_the_user_and_leaves_the_model_whole():
    def broken():
        yield next(batches())
        yield next(batches())
        raise OSError("the disk went away")

    with mh.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        model = mlp()
    with pytest.raises(OSError, match="the disk went away"):
        model.fit(broken(), steps_per_epoch=5, verbose=0, shuffle=False)
    assert int(model.optimizer.iterations.value) == 2
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    with pytest.raises(OSError, match="the disk went away"):
        model.evaluate(broken(), steps=5, verbose=0)
    model.fit(**DATA, batch_size=BATCH, verbose=0)


def test_rows_that_do_not_belong_together():
    model = mlp()
    mh.MirroredStrategy(["cpu:0", "cpu:1"]).adopt(model)
    with pytest.raises(mh.errors.DataError, match=r"(?s)x has 27 rows, y has 20 rows.*fix: make"):
        model.fit(DATA["x"], DATA["y"][:20], verbose=0)
    with pytest.raises(ValueError, match="validation x has 27 rows, validation y has 3 rows"):
        model.fit(**DATA, validation_data=(DATA["x"], DATA["y"][:3]), verbose=0)


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_an_empty_data_set(method):
    model = mlp()
    mh.MirroredStrategy(["cpu:0", "cpu:1"]).adopt(model)
    given = {"x": np.ones((0, 6))} | ({} if method == "predict" else {"y": np.ones((0,))})
    with pytest.raises(mh.errors.DataError, match=r"(?s)empty data set.*fix: give it at least one"):
        getattr(model, method)(**given, verbose=0)


def test_a_loss_that_is_nan_is_reported_as_keras_reports_it():
    model = mlp()
    mh.MirroredStrategy(["cpu:0", "cpu:1"]).adopt(model)
    x = DATA["x"].copy()
    x[3] = np.nan
    assert np.isnan(model.fit(x, DATA["y"], verbose=0).history["loss"]).all()
    model = mlp()
    mh.MirroredStrategy(["cpu:0", "cpu:1"]).adopt(model)
    history = model.fit(
        x,
        DATA["y"],
        batch_size=9,
        shuffle=False,
        epochs=3,
        verbose=0,
        callbacks=[keras.callbacks.TerminateOnNaN()],
    )
    assert len(history.history["loss"]) == 1
    assert int(model.optimizer.iterations.value) == 1
