"""unique and group_by_window give what tf.data gives, and go on from a saved position."""

from __future__ import annotations

import numpy as np
import pytest

import manyhands as mh
import manyhands.tf as tf
from manyhands.tf.names_used import status_of

Dataset = mh.data.Dataset


def lists(dataset):
    return [np.asarray(element).tolist() for element in dataset]


def test_unique_gives_each_element_once_in_order():
    assert lists(Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()) == [1, 37, 2]
    assert list(Dataset.from_tensor_slices(["b", "a", "b"]).unique()) == [b"b", b"a"]
    rows = np.array([[1, 2], [2, 1], [1, 2]])
    assert lists(Dataset.from_tensor_slices(rows).unique()) == [[1, 2], [2, 1]]
    pairs = Dataset.zip((Dataset.range(4).map(lambda x: x % 2), Dataset.range(4).map(lambda x: 0)))
    assert len(list(pairs.unique())) == 2
    assert lists(Dataset.from_tensor_slices(rows).batch(1).repeat(2).unique()) == [
        [[1, 2]],
        [[2, 1]],
    ]
    assert Dataset.range(3).unique().cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert Dataset.range(3).unique().element_spec == Dataset.range(3).element_spec


def grouped(dataset):
    """As in tf.data's documentation."""
    return dataset.group_by_window(lambda x: x % 2, lambda key, window: window.batch(5), 5)


def test_groups_come_as_they_fill_and_the_rest_by_key():
    assert lists(grouped(Dataset.range(10))) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    assert lists(grouped(Dataset.range(7))) == [[0, 2, 4, 6], [1, 3, 5]]
    backwards = Dataset.range(7, -3, -1).map(lambda x: x + 2)
    few = backwards.group_by_window(lambda x: x % 3, lambda key, window: window.batch(9), 3)
    assert lists(few) == [[9, 6, 3], [8, 5, 2], [7, 4, 1], [0]]
    assert lists(grouped(Dataset.range(0))) == []
    assert grouped(Dataset.range(10)).cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert grouped(Dataset.range(10)).element_spec == mh.data.TensorSpec((None,), np.int64)


def test_each_group_may_have_its_own_size():
    found = tf.data.Dataset.range(10).group_by_window(
        lambda x: x % 3,
        lambda key, window: window.batch(9).map(lambda rows: (key, rows)),
        window_size_func=lambda key: key + 2,
    )
    assert [(int(key), rows.numpy().tolist()) for key, rows in found] == [
        (0, [0, 3]),
        (1, [1, 4, 7]),
        (0, [6, 9]),
        (2, [2, 5, 8]),
    ]
    assert found.element_spec[1].shape == (None,)


def test_a_group_may_give_any_number_of_nested_elements():
    pairs = Dataset.from_tensor_slices({"x": np.arange(6), "y": np.arange(6) * 10})
    found = pairs.group_by_window(lambda e: e["x"] % 2, lambda key, window: window.take(2), 3)
    assert [int(element["y"]) for element in found] == [0, 20, 10, 30]
    none = pairs.group_by_window(lambda e: e["x"] % 2, lambda key, window: window.take(0), 3)
    assert list(none) == []


@pytest.mark.parametrize("stage", ["unique", "group"])
@pytest.mark.parametrize("after", [0, 1, 3, 4])
def test_a_pass_goes_on_from_its_saved_position(stage, after):
    def made():
        rows = Dataset.range(40).shuffle(40, seed=3).map(lambda x: x % 11)
        if stage == "unique":
            return rows.unique()
        return rows.group_by_window(
            lambda x: x % 3, lambda key, window: window.shuffle(4).batch(2), 4
        )

    first = iter(made())
    for _ in range(after):
        next(first)
    state, rest = first.get_state(), lists(first)
    again = iter(made())
    again.set_state(state)
    assert lists(again) == rest
    assert rest


def test_older_words():
    rows = tf.data.Dataset.range(7).apply(
        tf.data.experimental.group_by_window(lambda x: x % 2, lambda key, d: d.batch(2), 2)
    )
    assert lists(rows) == [[0, 2], [1, 3], [4, 6], [5]]
    assert lists(tf.data.Dataset.range(4).repeat(2).apply(tf.data.experimental.unique())) == [
        *(0, 1, 2, 3)
    ]
    for name in ("Dataset.unique", "Dataset.group_by_window"):
        assert status_of(f"tf.data.{name}") == ("supported", "")
    for name in ("unique", "group_by_window"):
        assert status_of(f"tf.data.experimental.{name}") == ("supported", "")
