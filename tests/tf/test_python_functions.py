"""tf.py_function and tf.numpy_function: what comes back is what Tout says."""

from __future__ import annotations

import numpy as np
import pytest

import manyhands.tf as tf


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
@pytest.mark.parametrize("rows", [1, 3])
def test_one_dtype_in_a_list_gives_one_tensor_in_a_list(call, rows):
    for function in (lambda a: a * 2, lambda a: [a * 2], lambda a: (a * 2,)):
        [given] = call(function, [tf.ones((rows, 3))], [tf.float32])
        np.testing.assert_array_equal(given.numpy(), np.full((rows, 3), 2.0))
        given = call(function, [tf.ones((rows, 3))], tf.float32)
        np.testing.assert_array_equal(given.numpy(), np.full((rows, 3), 2.0))


def test_python_functions_give_what_tout_says():
    number, word = tf.py_function(lambda: (3, "a"), [], (tf.int32, tf.string))
    assert (number.numpy(), word.numpy()) == (3, b"a")
    assert tf.py_function(lambda: 3, [], [tf.int32])[0].numpy() == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="a tensor for each dtype of Tout"):
        tf.py_function(lambda a: a, [tf.ones(2)], [tf.float32, tf.float32])
