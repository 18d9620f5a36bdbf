"""SplitRows go to the devices split, and what a step gives stays there until it is asked for."""

from __future__ import annotations

from collections import deque

import jax
import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.engine.split_rows import SplitRows
from manyhands.errors import StepError
from tests.strategies.rows import X


class TestValues:
    def test_a_step_sees_the_whole_batch_of_any_size(self, four):
        for rows in (1, 3, 4, 7, 12):
            [batch] = list(four.distribute_dataset([X[:rows]]))
            assert isinstance(batch, SplitRows)
            given = four.run(lambda x: (x.shape[0] + 0 * x.sum(), x * 2, x.mean()), args=(batch,))
            assert int(given[0]) == rows
            np.testing.assert_allclose(given[1], X[:rows] * 2)
            np.testing.assert_allclose(given[2], X[:rows].mean(), rtol=1e-6)

    def test_rows_are_split_over_the_devices(self, four):
        [batch] = list(four.distribute_dataset([(X[:10], {"y": X[:10, 0]})]))
        x, y = batch[0], batch[1]["y"]
        assert [len(part) for part in four.experimental_local_results(x)] == [3, 3, 3, 1]
        assert len({d for part in x.values for d in part.devices()}) == 4
        np.testing.assert_array_equal(np.asarray(y), X[:10, 0])
        np.testing.assert_array_equal(four.gather(x, axis=0), X[:10])

    def test_reductions(self, four):
        losses = four.run(lambda x: x[:, 0], args=(X,))
        np.testing.assert_allclose(four.reduce("SUM", losses, axis=0), X[:, 0].sum(), rtol=1e-6)
        np.testing.assert_allclose(four.reduce("mean", losses, axis=0), X[:, 0].mean(), rtol=1e-6)
        whole = four.run(lambda x: x.mean(), args=(X,))
        for op in (mh.ReduceOp.SUM, mh.ReduceOp.MEAN):
            np.testing.assert_allclose(four.reduce(op, whole, axis=None), X.mean(), rtol=1e-6)
        assert four.experimental_local_results(whole) == (whole,)
        with pytest.raises(StepError, match=r"ReduceOp.SUM or ReduceOp.MEAN"):
            four.reduce("MAX", whole, axis=None)

    def test_inside_a_step_there_is_one_replica(self, four):
        inside = deque()
        four.run(lambda: inside.append((four.num_replicas_in_sync, mh.get_strategy() is four)))
        assert list(inside) == [(1, True)]
        assert four.num_replicas_in_sync == 4

    def test_datasets_from_a_function_give_each_replica_a_batch(self, four):
        def make(context):
            assert context.num_replicas_in_sync == 4
            size = context.get_per_replica_batch_size(8)
            return [X[i : i + size] for i in range(0, len(X), size)]

        with pytest.raises(ValueError, match="not divisible"):
            mh.InputContext(4).get_per_replica_batch_size(7)
        sizes = [len(batch) for batch in four.distribute_datasets_from_function(make)]
        assert sizes == [8, 4]


class TestDistributedData:
    def test_an_iterator_gives_up_its_thread_and_says_what_went_wrong(self, four):
        def broken():
            yield X[:4]
            raise OSError("disk gone")

        batches = iter(four.distribute_dataset(broken()))
        next(batches)
        with pytest.raises(OSError, match="disk gone"):
            next(batches)
        with pytest.raises(StopIteration):
            next(batches)

    def test_a_position_is_saved_and_restored(self, four):
        data = mh.data.Dataset.from_tensor_slices(np.arange(40)).shuffle(40, seed=1).batch(6)
        batches = iter(four.distribute_dataset(data))
        for _ in range(3):
            next(batches)
        state = batches.get_state()
        wanted = [np.asarray(b).tolist() for b in batches]
        other = iter(four.distribute_dataset(data))
        other.set_state(state)
        assert [np.asarray(b).tolist() for b in other] == wanted

    def test_fit_takes_datasets_and_distributed_ones(self, four):
        y = X.sum(1)

        def trained(give):
            keras.utils.set_random_seed(0)
            with four.scope():
                net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            net.compile("sgd", "mse")
            data = mh.data.Dataset.from_tensor_slices((X, y)).batch(5)
            history = net.fit(give(data), epochs=2, verbose=0, validation_data=give(data))
            return [*history.history["loss"], *history.history["val_loss"]]

        keras.utils.set_random_seed(0)
        plain = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        plain.compile("sgd", "mse")
        history = plain.fit(
            X, y, batch_size=5, epochs=2, verbose=0, shuffle=False, validation_data=(X, y),
            validation_batch_size=5,
        )  # fmt: skip
        wanted = [*history.history["loss"], *history.history["val_loss"]]
        np.testing.assert_allclose(trained(lambda d: d), wanted, rtol=1e-5)
        np.testing.assert_allclose(trained(four.distribute_dataset), wanted, rtol=1e-5)


def test_results_stay_on_the_devices(four):
    given = four.run(lambda x: x * 2, args=(X,))
    assert isinstance(given, jax.Array)
    assert len(given.sharding.device_set) == 4
