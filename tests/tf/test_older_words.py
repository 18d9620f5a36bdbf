"""Names and keywords that TensorFlow's programs use and that were something else here."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands.tf as tf
from manyhands.tf.names_used import status_of

LONG = {
    "mean_squared_error": "mse",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "mean_squared_logarithmic_error": "msle",
    "kl_divergence": "kld",
    "log_cosh": "logcosh",
    "categorical_crossentropy": "categorical_crossentropy",
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("home", ["losses", "metrics"])
def test_losses_and_metrics_have_their_long_names(home, name):
    short = getattr(getattr(tf.keras, home), LONG[name])
    assert getattr(getattr(tf.keras, home), name) is short
    assert getattr(getattr(tf, home), name) is short
    assert status_of(f"tf.keras.{home}.{name}") == ("supported", "")


def test_keras_itself_stays_as_it_is():
    assert tf.keras.losses is not keras.losses
    assert not hasattr(keras.losses, "mse")
    assert not hasattr(keras.metrics, "mse")


def test_nearness():
    one = tf.constant([1.0, 2.0])
    tf.debugging.assert_near(one, one * (1 + 1e-6))
    tf.debugging.assert_near(one, one + 0.1, atol=0.2)
    tf.debugging.assert_near(one, one * 1.1, rtol=0.2, message="near")
    tf.debugging.assert_near([1, 2], [1, 2])
    for other, options in ((one * (1 + 1e-5), {}), (one + 0.1, {"rtol": 0.01, "atol": 0.01})):
        with pytest.raises(tf.errors.InvalidArgumentError, match="~="):
            tf.debugging.assert_near(one, other, **options)


def test_examples_may_have_names():
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    record = tf.train.Example(features=tf.train.Features(feature={"n": feature}))
    wanted = {"n": tf.io.FixedLenFeature([], tf.int64)}
    one = record.SerializeToString()
    assert int(tf.io.parse_single_example(one, wanted, name="one")["n"]) == 3
    many = tf.io.parse_example([one, one], wanted, example_names=None, name="two")
    np.testing.assert_array_equal(many["n"], [3, 3])


def test_generators_can_be_split():
    first, second = tf.random.Generator.from_seed(1).split(2)
    again, _ = tf.random.Generator.from_seed(1).split(count=2)
    numbers = first.normal([4])
    np.testing.assert_array_equal(again.normal([4]), numbers)
    assert not np.allclose(second.normal([4]), numbers)
    assert len(tf.random.Generator.from_seed(1).split()) == 1


def test_indices_of_another_kind():
    assert tf.math.top_k([1.0, 3.0], index_type=tf.int16).indices.dtype == tf.int16
