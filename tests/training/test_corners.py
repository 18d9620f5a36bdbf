"""Corners where a program could notice that it is not alone on one device."""

from __future__ import annotations

import gc
import threading

import jax
import keras
import numpy as np
import pytest
from keras import layers

import manyhands as mh
from manyhands.data import FeedPolicy, StreamFeeder
from tests.equality.cases import _classes, mlp

DATA = _classes(rows=50)


def both(run):
    """Run a program under a strategy and plainly; `run` gets a function that places a model."""
    strategy = mh.MirroredStrategy([f"cpu:{i}" for i in range(4)])
    results = []
    for place in (strategy.adopt, lambda model: model):
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(1)
        results.append(run(place))
    return results


def same(run):
    got, wanted = both(run)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("float64")
class TestRandomNumbers:
    @pytest.mark.filterwarnings("ignore:Your input ran out of data")
    @pytest.mark.parametrize("steps", [None, 3])
    @pytest.mark.parametrize(
        "shuffle",
        [
            pytest.param(
                "batch",
                marks=pytest.mark.skipif(
                    jax.default_backend() != "cpu", reason="Keras on a GPU draws a batch ahead"
                ),
            ),
            True,
        ],
    )
    def test_the_generator_is_drawn_from_as_in_keras(self, shuffle, steps):
        def run(place):
            history = place(mlp()).fit(
                **DATA, batch_size=8, epochs=3, verbose=0, shuffle=shuffle, steps_per_epoch=steps
            )
            return [*history.history["loss"], np.random.random()]

        same(run)

    def test_validation_data_may_draw(self):
        class Augmented(keras.utils.PyDataset):
            def __len__(self):
                return 2

            def __getitem__(self, i):
                x = DATA["x"][:9] + np.random.normal(size=(9, 6))
                return x, DATA["y"][:9]

        def run(place):
            history = place(mlp()).fit(
                **DATA, batch_size=8, epochs=3, verbose=0, validation_data=Augmented(workers=0)
            )
            return [*history.history["loss"], *history.history["val_loss"], np.random.random()]

        same(run)

    def test_a_schedule_may_seed(self):
        def rate(epoch):
            np.random.seed(epoch)
            return 0.01

        def run(place):
            callback = keras.callbacks.LearningRateScheduler(rate)
            return (
                place(mlp())
                .fit(**DATA, batch_size=8, epochs=3, verbose=0, callbacks=[callback])
                .history["loss"]
            )

        same(run)

    def test_another_bit_generator(self):
        before = np.random.get_bit_generator()

        def run(place):
            np.random.set_bit_generator(np.random.PCG64(3))
            stop = keras.callbacks.EarlyStopping("loss", min_delta=1e9, patience=1)
            history = place(mlp()).fit(**DATA, batch_size=8, epochs=9, verbose=0, callbacks=[stop])
            return [*history.history["loss"], np.random.random()]

        try:
            same(run)
        finally:
            np.random.set_bit_generator(before)


class Spy(keras.callbacks.Callback):
    def __init__(self, change):
        super().__init__()
        self.change = change

    def on_epoch_end(self, epoch, logs=None):
        self.change()


def test_arrays_that_keras_casts_may_be_changed_between_epochs():
    def run(place):
        x = DATA["x"].astype("float64")
        history = place(mlp()).fit(
            x,
            DATA["y"],
            batch_size=8,
            epochs=3,
            verbose=0,
            callbacks=[Spy(lambda: np.multiply(x, 0.5, out=x))],
        )
        return history.history["loss"]

    got, wanted = both(run)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.usefixtures("float64")
class TestOwnSteps:
    @pytest.mark.parametrize("wrap", [tuple, list])
    def test_a_state_of_other_containers(self, wrap):
        class Own(keras.Sequential):
            def train_step(self, state, data):
                logs, state = super().train_step(state, data)
                return logs, wrap([tuple(part) for part in state])

        def run(place):
            model = Own([keras.Input((6,)), layers.Dense(4, activation="softmax")])
            model.compile("adam", "sparse_categorical_crossentropy")
            return place(model).fit(**DATA, batch_size=8, epochs=2, verbose=0).history["loss"]

        same(run)

    def test_weights_keep_their_dtype(self):
        class Narrow(keras.Sequential):
            def train_step(self, state, data):
                logs, (first, *rest) = super().train_step(state, data)
                return logs, ([w.astype("float16") for w in first], *rest)

        def run(place):
            model = Narrow([keras.Input((6,)), layers.Dense(4, activation="softmax")])
            model.compile("sgd", "sparse_categorical_crossentropy")
            place(model).fit(**DATA, batch_size=50, verbose=0)
            return model.get_weights()

        got, wanted = both(run)
        for one, other in zip(got, wanted, strict=True):
            assert one.dtype == other.dtype == "float64"

    def test_a_wrapped_train_function(self):
        class Wrapped(keras.Sequential):
            def make_train_function(self, force=False):
                super().make_train_function(force)
                inner = self.train_function
                self.train_function = lambda state, iterator: inner(state, iterator)

        def run(place):
            model = Wrapped([keras.Input((6,)), layers.Dense(4, activation="softmax")])
            model.compile("adam", "sparse_categorical_crossentropy")
            history = place(model).fit(**DATA, batch_size=8, epochs=2, verbose=0)
            return history.history["loss"]

        same(run)


def test_single_batches_are_not_checked_more_than_in_keras():
    class Pairs(keras.Sequential):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return keras.ops.mean(y_pred) + keras.ops.mean(keras.ops.cast(y, "float32"))

    def run(place):
        model = place(Pairs([keras.Input((6,)), layers.Dense(1)]))
        model.compile("sgd")
        loss = model.train_on_batch(DATA["x"][:6], DATA["y"][:4])
        return [float(np.ravel(loss)[0]), model.predict_on_batch(DATA["x"][:0]).shape[0]]

    got, wanted = both(run)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_features_of_no_size():
    def run(place):
        x = keras.Input((0,))
        model = place(keras.Model(x, [layers.Dense(2)(x), x]))
        model.compile("sgd", ["mse", None])
        return [part.shape for part in model.predict(np.ones((50, 0)), batch_size=8, verbose=0)]

    got, wanted = both(run)
    assert got == wanted == [(50, 2), (50, 0)]


def test_a_bad_argument_is_told_in_keras_words():
    with mh.MirroredStrategy(["cpu:0"]).scope():
        model = mlp()
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'epocs'"):
        model.fit(**DATA, epocs=3)


def test_no_copies_of_the_weights_are_kept():
    with mh.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        model = keras.Sequential([keras.Input((6,)), layers.Dense(2048), layers.Dense(500)])
    model.compile("sgd", "mse")
    y = np.ones((50, 500), "float32")

    def live():
        gc.collect()
        large = [a for a in jax.live_arrays() if a.size == 2048 * 500 and not a.is_deleted()]
        return len(large)

    model.fit(DATA["x"], y, verbose=0)
    before = live()
    model.evaluate(DATA["x"], y, verbose=0)
    model.predict(DATA["x"], verbose=0)
    model.fit(DATA["x"], y, validation_data=(DATA["x"], y), verbose=0)
    assert live() == before


def test_a_stream_keeps_one_thread_whatever_the_epochs():
    class Place:
        def place_batch(self, batch, num_rows=None):
            class Placed:
                num_steps = 1

                class spec:  # noqa: N801
                    num_rows = padded_rows = 1

            return Placed

    policy = FeedPolicy(placer=Place(), num_threads=1, turns_ahead=2)
    feeder = StreamFeeder(lambda: iter(range(4)), lambda: policy)
    before = threading.active_count()
    for _ in range(10):
        feed = feeder.open()
        assert len([feed.take() for _ in feed.begin(4)]) == 4
    assert threading.active_count() <= before + 2
    feeder.close()


class Fickle(keras.metrics.Mean):
    """A metric of the user's own, which counts in Python how often it was reset."""

    def __init__(self, **given):
        super().__init__(name="fickle", **given)
        self.resets = 0

    def reset_state(self):
        self.resets = getattr(self, "resets", 0) + 1
        super().reset_state()
        self.count.assign(float(self.resets))

    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(keras.ops.mean(y_pred))


@pytest.mark.usefixtures("float64")
class TestMetricsBetweenEpochs:
    @pytest.mark.parametrize("validation", [0.0, 0.3])
    def test_the_users_own_reset_runs_each_time(self, validation):
        def run(place):
            model = place(mlp())
            model.compile("sgd", "sparse_categorical_crossentropy", metrics=[Fickle()])
            history = model.fit(
                **DATA, batch_size=8, epochs=4, verbose=0, validation_split=validation
            )
            return np.concatenate([*history.history.values(), model.evaluate(**DATA, verbose=0)])

        same(run)

    def test_a_second_compile_brings_other_metrics(self):
        def run(place):
            model, values = place(mlp()), []
            for metrics in (["accuracy"], [keras.metrics.SparseTopKCategoricalAccuracy(2)]):
                model.compile("sgd", "sparse_categorical_crossentropy", metrics=metrics)
                history = model.fit(**DATA, batch_size=8, epochs=3, verbose=0)
                values += list(history.history.values())
            return np.concatenate(values)

        same(run)

    def test_a_callback_that_changes_a_metric_is_seen(self):
        class Changes(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                tracker = self.model.metrics[0]
                tracker.total.assign(tracker.total * 0.5)

        def run(place):
            model = place(mlp())
            history = model.fit(
                **DATA, batch_size=8, epochs=2, verbose=0, callbacks=[Changes()], shuffle=False
            )
            return history.history["loss"]

        same(run)
