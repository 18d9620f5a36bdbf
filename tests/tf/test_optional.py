"""A loop that asks whether there is another batch before it takes it."""

from __future__ import annotations

import pytest

import manyhands as mh
from manyhands import tf
from manyhands.errors import DataError


def taken(iterator):
    """Take what there is, as TensorFlow's guide to distributed input does."""
    found = []
    while True:
        batch = iterator.get_next_as_optional()
        if not batch.has_value():
            return found, batch
        found.append(batch.get_value())


def test_a_dataset_is_taken_to_its_end():
    found, last = taken(iter(tf.data.Dataset.range(3)))
    assert [int(value) for value in found] == [0, 1, 2]
    assert not last.has_value().numpy()
    with pytest.raises(DataError, match="has_value"):
        last.get_value()


def test_a_distributed_dataset_is_taken_to_its_end():
    strategy = mh.MirroredStrategy(["cpu:0", "cpu:1"])
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(4))
    found, _ = taken(iter(batches))
    sums = [
        strategy.reduce("SUM", strategy.run(lambda part: tf.reduce_sum(part), args=(rows,)), None)
        for rows in found
    ]
    assert [int(total) for total in sums] == [6, 22, 17]


def test_one_may_be_made():
    optional = tf.experimental.Optional
    assert int(optional.from_value(tf.constant(3)).get_value()) == 3
    assert not optional.empty(tf.TensorSpec([], tf.int32)).has_value()
    pass_over = iter(tf.data.Dataset.range(1))
    assert tf.data.experimental.get_next_as_optional(pass_over).has_value()


def test_the_inside_of_a_strategy_is_named():
    with pytest.raises(AttributeError, match="use run, reduce, gather"):
        mh.MirroredStrategy(["cpu:0"]).extended.call_for_each_replica(print)
