"""A step that asks which replica it is sees only that replica's rows."""

from __future__ import annotations

from collections import deque

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.errors import ManyhandsWarning
from tests.strategies.rows import X


class TestReplicas:
    def test_a_step_that_asks_sees_only_its_rows(self, four):
        def step(x):
            replica = mh.get_replica_context()
            assert x.shape == (3, 3)
            share = keras.ops.sum(x)
            return replica.replica_id_in_sync_group, share, replica.all_reduce("SUM", share)

        number, share, total = four.run(step, args=(X,))
        assert [int(n) for n in number.values] == [0, 1, 2, 3]
        np.testing.assert_allclose(
            [float(s) for s in share.values], X.reshape(4, -1).sum(1), rtol=1e-5
        )
        np.testing.assert_allclose([float(t) for t in total.values], [X.sum()] * 4, rtol=1e-5)
        np.testing.assert_allclose(float(four.reduce("SUM", share)), X.sum(), rtol=1e-5)

    def test_gradients_are_summed_and_metrics_added_up(self, four):
        def trained(strategy):
            keras.utils.set_random_seed(0)
            net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            optimizer, mean = keras.optimizers.SGD(0.1), keras.metrics.Mean()

            def step(x):
                replica = mh.get_replica_context()
                with mh.GradientTape() as tape:
                    each = keras.ops.sum(net(x) ** 2, -1)
                    loss = keras.ops.sum(each) / (x.shape[0] * replica.num_replicas_in_sync)
                optimizer.apply(
                    tape.gradient(loss, net.trainable_variables), net.trainable_variables
                )
                mean.update_state(each)
                return loss

            losses = [
                float(strategy.reduce("SUM", strategy.run(step, args=(X,)))) for _ in range(3)
            ]
            return [*losses, float(mean.result())], net.get_weights()

        got, weights = trained(four)
        wanted, wanted_weights = trained(mh.OneDeviceStrategy("cpu:0"))
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        for one, other in zip(weights, wanted_weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)

    def test_values_made_for_each_replica(self, four):
        numbers = four.experimental_distribute_values_from_function(
            lambda context: np.float32(context.replica_id_in_sync_group)
        )
        given = four.run(lambda n: n * 10, args=(numbers,))
        assert [float(v) for v in four.experimental_local_results(given)] == [0, 10, 20, 30]
        rows = four.experimental_distribute_values_from_function(
            lambda context: np.ones((2, 3), "float32")
        )
        given = four.run(lambda r: r.sum(), args=(rows,))
        assert [float(v) for v in four.experimental_local_results(given)] == [6, 6, 6, 6]
        assert float(four.reduce("SUM", given)) == 24.0

    def test_rows_that_do_not_divide(self, four):
        def step(x):
            replica = mh.get_replica_context()
            share = x.sum()
            total = replica.all_reduce("SUM", share)
            mean = replica.all_reduce("MEAN", {"total": total})["total"]
            return x, replica.replica_id_in_sync_group + 0 * share, mean

        rows, number, total = four.run(step, args=(X[:6],))
        assert [len(part) for part in four.experimental_local_results(rows)] == [2, 2, 2, 0]
        np.testing.assert_allclose(four.gather(rows, axis=0), X[:6])
        assert [float(n) for n in number.values] == [0, 1, 2, 3]
        np.testing.assert_allclose([float(t) for t in total.values], [X[:6].sum()] * 4, rtol=1e-5)

    def test_gradients_of_rows_that_do_not_divide(self, four):
        def trained(strategy):
            keras.utils.set_random_seed(0)
            net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            optimizer, mean = keras.optimizers.SGD(0.1), keras.metrics.Mean()

            def step(x):
                assert mh.get_replica_context() is not None
                with mh.GradientTape() as tape:
                    each = keras.ops.sum(net(x) ** 2, -1)
                    loss = keras.ops.sum(each) / 7
                gradients = tape.gradient(loss, net.trainable_variables)
                optimizer.apply(gradients, net.trainable_variables)
                mean.update_state(each)
                return loss

            given = [strategy.run(step, args=(X[:7],)) for _ in range(2)]
            losses = [float(strategy.reduce("SUM", loss)) for loss in given]
            return [*losses, float(mean.result())], net.get_weights()

        got, weights = trained(four)
        wanted, wanted_weights = trained(mh.OneDeviceStrategy("cpu:0"))
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        for one, other in zip(weights, wanted_weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)

    def test_the_only_replica_may_look_at_values(self):
        one = mh.OneDeviceStrategy("cpu:0")

        def step(x):
            replica = mh.get_replica_context()
            if int(replica.replica_id_in_sync_group) == 0 and float(x.sum()) < 1e9:
                return replica.all_reduce("SUM", x.sum())
            return None

        with pytest.warns(ManyhandsWarning, match="step runs eagerly"):
            given = one.run(step, args=(X,))
        np.testing.assert_allclose(float(given), X.sum(), rtol=1e-5)

    @pytest.mark.parametrize("share", [False, True])
    def test_the_number_of_replicas_read_outside_is_doubted(self, four, share):
        outside = four.num_replicas_in_sync
        assert outside == 4
        factor = 1 / outside if share else outside

        def doubtful(x):
            return x.mean() * factor

        def fine(x):
            return x.mean() / four.num_replicas_in_sync

        with pytest.warns(ManyhandsWarning, match="inside the step, or divide by the global"):
            four.run(doubtful, args=(X,))
        np.testing.assert_allclose(four.run(fine, args=(X,)), X.mean(), rtol=1e-5)

    def test_where_we_are(self, four):
        assert mh.get_strategy() is None
        assert mh.get_replica_context() is None
        assert not mh.in_cross_replica_context()
        with four.scope():
            assert mh.in_cross_replica_context()
            assert mh.get_replica_context() is None
            inside = deque()
            four.run(lambda: inside.append(mh.in_cross_replica_context()))
            assert list(inside) == [False]
