"""Tensors of strings: compared and taken apart."""

from __future__ import annotations

import numpy as np
import pytest

import manyhands.tf as tf

words = tf.constant([["a", "b"], ["ü", "a"]])


@pytest.mark.parametrize("other", ["a", b"a", tf.constant("a"), np.array("a", object)])
def test_they_are_compared_as_tensorflow_does(other):
    wanted = [[True, False], [False, True]]
    np.testing.assert_array_equal((words == other).numpy(), wanted)
    np.testing.assert_array_equal((other == words), wanted)
    np.testing.assert_array_equal((words != other).numpy(), np.logical_not(wanted))
    np.testing.assert_array_equal(tf.equal(words, other).numpy(), wanted)
    np.testing.assert_array_equal(tf.not_equal(other, words).numpy(), np.logical_not(wanted))


def test_rows_are_compared_with_lists():
    np.testing.assert_array_equal((words == ["a", "a"]).numpy(), [[True, False], [False, True]])
    assert bool(tf.reduce_any(words[0] == "b"))
    assert tf.cast(words[0] == "b", tf.int32).numpy().tolist() == [0, 1]


def test_what_is_no_text_is_not_compared():
    with pytest.raises(TypeError, match="to a tensor of dtype string"):
        words == 1  # noqa: B015
    assert (words == None) is False  # noqa: E711
    assert (words != None) is True  # noqa: E711


def test_elements_are_tensors_of_strings():
    assert [[one.numpy() for one in row] for row in words] == [[b"a", b"b"], ["ü".encode(), b"a"]]
    assert words[1, 0].numpy().decode() == "ü"
    assert words[0, 0].shape == ()
    assert words[0, 0].dtype == tf.string
    assert words[0, 0] == "a"
    assert words[:, 1].numpy().tolist() == [b"b", b"a"]
    assert [one.numpy() for one in tf.data.Dataset.from_tensor_slices(words[0])] == [b"a", b"b"]
