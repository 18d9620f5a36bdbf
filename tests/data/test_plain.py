"""Arrays of any make train as their numbers do, at every place where arrays are given."""

from __future__ import annotations

from functools import cache

import keras
import ml_dtypes
import numpy as np
import pandas as pd
import pytest

import manyhands as mh
import manyhands.tf as tf
from manyhands.errors import DataError

X = (np.arange(12).reshape(4, 3) % 5).astype("float32")
Y = np.arange(4, dtype="float32").reshape(4, 1)
NUMBERS = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def _read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def _memmap(x, tmp_path):
    made = np.memmap(tmp_path / "rows", dtype=">f8", mode="w+", shape=x.shape)
    made[:] = x
    return made


MAKES = {
    **{f">{kind}": lambda x, kind=kind: x.astype(f">{kind}") for kind in NUMBERS},
    "fortran": np.asfortranarray,
    "negative strides": lambda x: x[::-1][::-1].copy()[:, ::-1][:, ::-1],
    "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
    "read-only": _read_only,
    "big-endian, read-only": lambda x: _read_only(x.astype(">i4")),
    "matrix": lambda x: np.asmatrix(x),
    "masked": np.ma.masked_array,
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), "u1")[1:].view("f4").reshape(x.shape),
    "bfloat16": lambda x: x.astype(ml_dtypes.bfloat16),
}


@pytest.fixture(scope="module")
def strategy():
    return mh.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(scope="module")
def model(strategy):
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.0), "mse")
    model.set_weights([np.array([[0.5], [-1.0], [0.25]]), np.array([0.125])])
    return model


@cache
def entries(model, strategy):
    """Every place where arrays are given, as functions of rows."""
    slices = mh.data.Dataset.from_tensor_slices
    return {
        "fit": lambda x: model.fit(x, Y, batch_size=2, verbose=0).history["loss"][0],
        "fit y": lambda x: model.fit(X, x[:, :1], batch_size=2, verbose=0).history["loss"][0],
        "fit weights": lambda x: (
            model.fit(X, Y, sample_weight=np.asarray(x)[:, 1], batch_size=2, verbose=0)
        ).history["loss"][0],
        "validation": lambda x: (
            model.fit(X, Y, batch_size=2, verbose=0, validation_data=(x, Y))
        ).history["val_loss"][0],
        "evaluate": lambda x: model.evaluate(x, Y, batch_size=2, verbose=0),
        "predict": lambda x: model.predict(x, batch_size=2, verbose=0),
        "train_on_batch": lambda x: model.train_on_batch(x, Y),
        "test_on_batch": lambda x: model.test_on_batch(x, Y, sample_weight=np.asarray(x)[:, 1]),
        "predict_on_batch": model.predict_on_batch,
        "generator": lambda x: model.fit(
            iter_of((x, Y)), shuffle=False, steps_per_epoch=1, verbose=0
        ).history["loss"][0],
        "dataset": lambda x: model.evaluate(slices((x, Y)).batch(2), verbose=0),
        "dataset, mapped": lambda x: model.evaluate(
            slices((x, Y)).map(lambda x, y: (x, y)).batch(2), verbose=0
        ),
        "set_weights": lambda x: _weights_set(np.asarray(x)[:3, :1]),
        "from_generator": lambda x: next(
            iter(
                mh.data.Dataset.from_generator(
                    lambda: iter([x]), output_signature=mh.data.TensorSpec((4, 3), x.dtype)
                )
            )
        ),
    }


def iter_of(batch):
    yield batch


def _weights_set(kernel):
    layer = keras.layers.Dense(1)
    layer.build((None, 3))
    layer.set_weights([kernel, kernel[0]])
    return np.asarray(layer.kernel)


@cache
def steps(strategy):
    """Places that take arrays of numbers as they are, where masks have no meaning."""
    total = lambda v: keras.ops.sum(keras.ops.cast(v, "float32"))  # noqa: E731
    return {
        "strategy.run": lambda x: strategy.run(lambda given: total(given["b"]), args=({"b": x},)),
        "tf.function": tf.function(total),
        "tf.constant": lambda x: total(tf.constant(x)),
        "tf.Variable": lambda x: total(tf.Variable(x)),
        "tf.reduce_sum": lambda x: tf.cast(tf.reduce_sum(x), "float32"),
        "tf.data": lambda x: total(next(iter(tf.data.Dataset.from_tensors(x)))),
    }


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("make", MAKES)
def test_arrays_of_any_make_train(model, strategy, make):
    made = MAKES[make](X)
    calls = entries(model, strategy) | ({} if make == "masked" else steps(strategy))
    for entry, call in calls.items():
        assert np.allclose(np.asarray(call(made)), wanted(entry, call), 1e-6), entry


@cache
def wanted(entry, call):
    return np.asarray(call(X))


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i4", "f4", "u1", "bool"])
def test_pandas_tables_train(model, dtype):
    table, rows = pd.DataFrame(X.astype(dtype)), X.astype(dtype).astype("f4")
    assert np.allclose(model.evaluate(table, Y, verbose=0), model.evaluate(rows, Y, verbose=0))
    assert np.allclose(model.train_on_batch(table, Y), model.train_on_batch(rows, Y))
    assert np.allclose(model.predict_on_batch(table), model.predict_on_batch(rows))


def test_a_memory_map_trains(model, strategy, tmp_path):
    made = _memmap(X, tmp_path)
    calls = entries(model, strategy) | steps(strategy)
    for entry, call in calls.items():
        assert np.allclose(call(made), wanted(entry, call)), entry


def test_arrays_are_not_copied_for_nothing():
    from manyhands.data.plain import plain, plain_everywhere

    nested = {"b": X, "a": [X, (Y,)]}
    assert plain(X) is X
    assert plain_everywhere(nested) is nested
    changed = plain_everywhere({"b": X.astype(">f4"), "a": [X, (Y,)]})
    assert list(changed) == ["b", "a"]
    assert changed["a"][0] is X


REFUSED = {
    "object": (X.astype(object), r"fix: convert it before: x.astype\("),
    "records": (np.zeros(4, [("a", "f4")]), "fix: give each field as an array of its own"),
    "record array": (np.rec.array(np.zeros(4, [("a", "f4")])), "fix: give each field"),
    "times": (np.zeros((4, 3), "M8[s]"), "fix: turn times into numbers first"),
    "spans of time": (np.zeros((4, 3), "m8[s]"), "fix: turn times into numbers first"),
    "text": (X.astype(str), "fix: turn text into numbers first"),
    "long floats": (X.astype(np.longdouble), "fix: convert it before"),
    "long complex": (X.astype(np.clongdouble), "fix: convert it before"),
    "pandas' objects": (pd.DataFrame(X.astype(object)), "fix: convert it before"),
    "pandas' Int64": (pd.DataFrame(X).astype("Int64"), "fix: convert it before"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_holds_no_numbers_is_refused_with_a_fix(model, kind):
    rows, fix = REFUSED[kind]
    for call in (
        lambda: model.fit(rows, Y, verbose=0),
        lambda: model.fit(X, rows, verbose=0),
        lambda: model.fit(X, Y, sample_weight=rows, verbose=0),
        lambda: model.fit(X, Y, validation_data=(rows, Y), verbose=0),
        lambda: model.evaluate(rows, Y, verbose=0),
        lambda: model.predict(rows, verbose=0),
        lambda: model.train_on_batch(rows, Y),
        lambda: model.test_on_batch(rows, Y),
        lambda: model.predict_on_batch(rows),
    ):
        with pytest.raises(DataError, match=fix):
            call()
    if isinstance(rows, np.ndarray):
        with pytest.raises(DataError, match=fix):
            model.fit(iter_of((rows, Y)), shuffle=False, steps_per_epoch=1, verbose=0)


@pytest.mark.parametrize("kind", ["records", "record array", "times", "spans of time"])
def test_datasets_refuse_what_no_tensor_holds(kind):
    rows, fix = REFUSED[kind]
    with pytest.raises(DataError, match=fix):
        mh.data.Dataset.from_tensor_slices(rows)


@pytest.mark.parametrize("objects", [[None, "a"], [X, "a"], [{"a": 1}], ["a", 1.0]])
def test_datasets_refuse_arrays_of_anything(objects):
    rows = np.empty(len(objects), object)
    rows[:] = objects
    with pytest.raises(DataError, match="fix: give arrays of one dtype"):
        mh.data.Dataset.from_tensor_slices(rows)


def test_python_numbers_in_an_array_of_objects_are_numbers():
    dataset = mh.data.Dataset.from_tensor_slices(np.array([1.5, 2], object))
    assert dataset.element_spec.dtype == np.float32
    assert tf.constant(np.array([1, 2], object)).dtype == np.int32
    assert list(mh.data.Dataset.from_tensor_slices(np.array(["a", b"b"], object))) == [b"a", b"b"]


@pytest.mark.parametrize("call", ["fit", "evaluate", "predict"])
def test_a_single_number_has_no_rows(model, call):
    given = (np.array(1.0),) if call == "predict" else (np.array(1.0), Y)
    with pytest.raises(DataError, match="fix: give an array with a first dim for the rows"):
        getattr(model, call)(*given, verbose=0)


def test_steps_refuse_what_holds_no_numbers(strategy):
    for rows in (np.zeros(3, "m8[s]"), np.zeros(3, [("a", "f4")]), np.zeros(3, np.longdouble)):
        with pytest.raises(DataError, match="fix: "):
            strategy.run(lambda v: v, args=(rows,))
