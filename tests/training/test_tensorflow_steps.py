"""Models whose own `train_step(self, data)` is written for TensorFlow, in `fit`."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.errors import StepError
from manyhands.keras_bridge.lift import takes_only_data

pytestmark = pytest.mark.usefixtures("float64")
X = np.random.default_rng(0).normal(size=(50, 6))
Y = (X.sum(1, keepdims=True) > 0).astype("float64")


class Stateful(keras.Model):
    """As TensorFlow's guide to customising `fit` has it."""

    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(8, activation="relu")
        self.norm = keras.layers.BatchNormalization()
        self.drop = keras.layers.Dropout(0.2)
        self.out = keras.layers.Dense(1)
        self.seen = keras.Variable(0, dtype="int32", trainable=False)

    def call(self, x, training=False):
        x = self.norm(self.hidden(x), training=training)
        return self.out(self.drop(x, training=training))

    def train_step(self, data):
        x, y = data
        with mh.GradientTape() as tape:
            given = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=given)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.seen.assign_add(1)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss, sample_weight=len(x))
            else:
                metric.update_state(y, given)
        return {metric.name: metric.result() for metric in self.metrics}


class Plain(Stateful):
    train_step = keras.Model.train_step


def fitted(kind, place, **options):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    model = place(kind())
    model.compile(keras.optimizers.Adam(0.01), "mse", **options)
    history = model.fit(X, Y, batch_size=12, epochs=3, verbose=0, validation_data=(X, Y))
    return history.history, model


def adopted(count):
    return mh.MirroredStrategy([f"cpu:{i}" for i in range(count)]).adopt


@pytest.mark.parametrize("count", [1, 3, 4])
def test_they_train_as_keras_own_step_does(count):
    wanted, plain = fitted(Plain, lambda model: model)
    got, model = fitted(Stateful, adopted(count))
    np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-9)
    np.testing.assert_allclose(got["val_loss"], wanted["val_loss"], rtol=1e-9)
    for one, other in zip(model.get_weights(), plain.get_weights(), strict=True):
        if one.dtype != np.int32:
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert int(model.seen.value) == 15


def test_without_a_strategy_too():
    wanted, _ = fitted(Plain, lambda model: model)
    got, _ = fitted(Stateful, lambda model: model)
    np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-9)


@pytest.mark.parametrize("count", [1, 4])
def test_a_variable_that_the_model_does_not_hold_is_part_of_the_step(count):
    outside = keras.Variable(0.0, name="outside")

    class Outgoing(Stateful):
        def train_step(self, data):
            outside.assign_add(1.0)
            return super().train_step(data)

    wanted, _ = fitted(Plain, lambda model: model)
    got, _ = fitted(Outgoing, adopted(count))
    np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-9)
    assert float(outside.value) == 15


def test_a_variable_that_the_first_batch_did_not_show_is_named():
    late = keras.Variable(0.0, name="late")

    class Late(Stateful):
        def train_step(self, data):
            if len(data[0]) < 12:  # the last batch
                late.assign_add(1.0)
            return super().train_step(data)

    with pytest.raises(StepError, match="write them in every step") as error:
        fitted(Late, adopted(2))
    assert "late" in str(error.value)


def test_a_step_that_never_stops_making_variables_is_named():
    made = []

    class Wasteful(Stateful):
        def train_step(self, data):
            made.append(keras.Variable(0.0))
            made[-1].assign_add(1.0)
            return super().train_step(data)

    with pytest.raises(StepError, match="in __init__, compile or build"):
        fitted(Wasteful, adopted(2))


def test_a_step_may_return_a_variable():
    class Counting(Stateful):
        def train_step(self, data):
            return {**super().train_step(data), "seen": self.seen}

    history, _ = fitted(Counting, adopted(2))
    assert history["seen"] == [5, 10, 15]


class Around(Stateful):
    """Does something around Keras' own steps, in TensorFlow's words."""

    def train_step(self, data):
        x, y = data
        self.seen.assign_add(1)
        return {**keras.Model.train_step(self, (x * 1.0, y)), "extra": 1.0}

    def test_step(self, data):
        return super().test_step(data)

    def predict_step(self, data):
        return super().predict_step(data) * 2.0


@pytest.mark.parametrize("count", [1, 4])
def test_they_may_call_keras_own(count):
    wanted, plain = fitted(Plain, lambda model: model)
    got, model = fitted(Around, adopted(count))
    np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-9)
    np.testing.assert_allclose(got["val_loss"], wanted["val_loss"], rtol=1e-9)
    assert got["extra"] == [1.0] * 3
    assert int(model.seen.value) == 15
    predicted = model.predict(X, batch_size=12, verbose=0)
    np.testing.assert_allclose(predicted, 2 * plain.predict(X, verbose=0), rtol=1e-7)


def test_keras_own_steps_are_told_apart():
    assert takes_only_data(Stateful(), "train")
    assert not takes_only_data(Stateful(), "test")
    assert not takes_only_data(Plain(), "train")
