"""Rows folded, dealt out and put together: in functions, with gradients."""

from __future__ import annotations

import numpy as np
import pytest

import manyhands.tf as tf

a = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_scan_has_a_gradient(compiled):
    factor = tf.Variable(2.0)

    def gradient():
        with tf.GradientTape() as tape:
            last = tf.scan(lambda before, row: before * factor + tf.reduce_sum(row), a, 0.0)[-1]
        return last, tape.gradient(last, factor)

    last, slope = (tf.function(gradient) if compiled else gradient)()
    assert float(last) == 3 * 4 + 7 * 2 + 11  # 3 f^2 + 7 f + 11
    assert float(slope) == 6 * 2 + 7


def test_a_fold_in_a_function():
    total = tf.function(lambda rows: tf.foldl(lambda before, row: before + row, rows))
    np.testing.assert_array_equal(total(a), [9, 12])
    back = tf.function(lambda rows: tf.foldr(lambda before, row: before - row, rows))
    np.testing.assert_array_equal(back(a), [1, 0])


def test_parts_of_any_size_make_a_function_run_eagerly():
    parts = tf.function(lambda rows, numbers: tf.dynamic_partition(rows, numbers, 2))
    with pytest.warns(UserWarning, match="parts of any number of rows"):
        few, many = parts(a, tf.constant([1, 0, 1]))
    np.testing.assert_array_equal(few, a[1:2])
    np.testing.assert_array_equal(many, a[::2])
    indices = tf.dynamic_partition(tf.range(3), [1, 0, 1], 2)
    np.testing.assert_array_equal(tf.dynamic_stitch(indices, [few, many]), a)


def test_what_is_refused():
    with pytest.raises(ValueError, match="needs seq_axis"):
        tf.reverse_sequence(a, [1, 2, 0])
    with pytest.raises(ValueError, match="one diagonal at a time"):
        tf.linalg.set_diag(a, [1.0], k=(0, 1))


def test_text_is_gathered():
    words = tf.constant(["a", "b", "c"])
    assert tf.gather(words, [2, 0]).numpy().tolist() == [b"c", b"a"]
    assert tf.gather(words, tf.argmax([0.1, 0.9])) == "b"
