"""Steps in the words of TensorFlow 2.2 to 2.12: `compiled_loss` and `compiled_metrics`.

The oracle is the same model with Keras' own steps.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
import manyhands.tf as tf

pytestmark = pytest.mark.usefixtures("float64")
X = np.random.default_rng(0).normal(size=(50, 6))
Y = np.random.default_rng(1).normal(size=(50, 2))
WEIGHTS = np.linspace(0.1, 2.0, 50)


class Old(keras.Model):
    def train_step(self, data):
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            given = self(x, training=True)
            loss = self.compiled_loss(y, given, weights, regularization_losses=self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.compiled_metrics.update_state(y, given, weights)
        return {metric.name: metric.result() for metric in self.metrics}

    def test_step(self, data):
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        given = self(x, training=False)
        self.compiled_loss(y, given, weights, regularization_losses=self.losses)
        self.compiled_metrics.update_state(y, given, weights)
        return {metric.name: metric.result() for metric in self.metrics}


def fitted(kind, count, **options):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    given = keras.Input((6,))
    hidden = keras.layers.Dense(8, activation="relu", kernel_regularizer="l2")(given)
    model = kind(given, keras.layers.Dense(2)(hidden))
    if count is not None:
        mh.MirroredStrategy([f"cpu:{i}" for i in range(count)]).adopt(model)
    model.compile(keras.optimizers.Adam(0.01), "mse", **options)
    history = model.fit(
        X,
        Y,
        sample_weight=WEIGHTS,
        batch_size=12,
        epochs=2,
        verbose=0,
        validation_data=(X, Y),
    )
    return history.history


@pytest.mark.parametrize("count", [None, 1, 4])
@pytest.mark.parametrize("options", [{}, {"metrics": ["mae"], "weighted_metrics": ["mse"]}])
def test_they_are_what_the_model_was_compiled_with(count, options):
    wanted = fitted(keras.Model, None, **options)
    got = fitted(Old, count, **options)
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-9, err_msg=name)


def test_the_metrics_can_be_listed():
    model = Old(*(lambda x: (x, keras.layers.Dense(1)(x)))(keras.Input((6,))))
    model.compile("sgd", "mse")
    assert model.compiled_metrics.metrics == []
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(X, Y[:, :1], verbose=0)
    assert [metric.name for metric in model.compiled_metrics.metrics] == ["mae"]
