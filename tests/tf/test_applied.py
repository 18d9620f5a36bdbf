"""Functions for `dataset.apply`, as older programs write them."""

from __future__ import annotations

import pytest

import manyhands.tf as tf

experimental = tf.data.experimental


def numbers(dataset):
    return [int(one) for one in dataset]


def test_shuffle_and_repeat():
    found = numbers(tf.data.Dataset.range(5).apply(experimental.shuffle_and_repeat(5, 2, seed=1)))
    assert sorted(found[:5]) == sorted(found[5:]) == list(range(5))
    assert found[:5] != found[5:]
    endless = tf.data.Dataset.range(5).apply(experimental.shuffle_and_repeat(5))
    assert endless.cardinality() == experimental.INFINITE_CARDINALITY


def test_prefetch_to_device():
    for change in (
        experimental.prefetch_to_device("/gpu:0"),
        experimental.prefetch_to_device("/gpu:0", 2),
    ):
        assert numbers(tf.data.Dataset.range(3).apply(change)) == [0, 1, 2]


def test_a_cardinality_can_be_said():
    few = tf.data.Dataset.range(9).filter(lambda x: x > 4)
    said = few.apply(experimental.assert_cardinality(4))
    assert experimental.cardinality(said) == 4
    assert len(said) == 4
    assert numbers(said) == numbers(said) == [5, 6, 7, 8]
    assert numbers(said.batch(2).map(lambda x: x[0])) == [5, 7]


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (3, "3 elements.\n  got: at least 4"),
        (5, "5 elements.\n  got: only 4"),
        (experimental.INFINITE_CARDINALITY, "elements without end.\n  got: only 4"),
    ],
)
def test_a_cardinality_that_was_wrong_is_an_error(expected, words):
    few = tf.data.Dataset.range(9).filter(lambda x: x > 4)
    with pytest.raises(tf.errors.FailedPreconditionError) as error:
        numbers(few.apply(experimental.assert_cardinality(expected)))
    assert f"expected to contain {words}" in str(error.value)
    assert "fix: give assert_cardinality the right number" in str(error.value)


def test_the_only_element():
    assert int(experimental.get_single_element(tf.data.Dataset.range(1))) == 0
