"""What a step of a custom loop may do, and what it gets back."""

from __future__ import annotations

from collections import deque

import jax
import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.engine.step_program import Rows
from manyhands.errors import ManyhandsWarning, StepError

FOUR = [f"cpu:{i}" for i in range(4)]


@pytest.fixture
def four():
    return mh.MirroredStrategy(FOUR)


class Net(keras.Model):
    """Builds itself when it is first called."""

    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(4, activation="tanh")
        self.second = keras.layers.Dense(1)

    def call(self, x):
        return self.second(self.first(x))


X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")


class TestState:
    def test_a_model_and_an_optimizer_may_be_made_by_the_first_step(self, four):
        keras.utils.set_random_seed(0)
        net, optimizer = Net(), keras.optimizers.Adam(0.1)

        def step(x):
            with mh.GradientTape() as tape:
                loss = keras.ops.mean((net(x) - 1.0) ** 2)
            gradients = tape.gradient(loss, net.trainable_variables)
            assert len(gradients) == 4
            assert all(g is not None for g in gradients)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
            return loss

        losses = [float(four.run(step, args=(X,))) for _ in range(8)]
        assert losses[-1] < losses[0] / 2
        assert int(optimizer.iterations.value) == 8

    def test_variables_are_updated_in_place_and_reads_stay_fresh(self, four):
        counter, rate = keras.Variable(0.0), keras.Variable(2.0)

        def step():
            counter.assign_add(rate.value)
            return counter.value

        assert float(four.run(step)) == 2.0
        rate.assign(5.0)
        assert float(four.run(step)) == 7.0
        assert float(counter.value) == 7.0

    def test_random_numbers_differ_from_step_to_step(self, four):
        keras.utils.set_random_seed(0)
        drawn = [four.run(lambda: keras.random.uniform((3,))) for _ in range(2)]
        assert not np.allclose(*drawn)

    def test_a_variable_held_before_a_step_is_whole_after_it(self, four):
        weights = keras.Variable(np.ones(3, "float32"))
        reader = keras.Variable(np.ones(3, "float32"))
        before = reader.value
        four.run(lambda: weights.assign(weights.value + reader.value))
        np.testing.assert_array_equal(before, [1, 1, 1])

    def test_two_variables_may_share_a_value(self, four):
        one, other = keras.Variable(np.ones(3, "float32")), keras.Variable(np.ones(3, "float32"))
        other.assign(one.value)

        def step():
            one.assign(one.value + 1)
            other.assign(other.value + 2)

        four.run(step)
        np.testing.assert_array_equal(one.value, [2, 2, 2])
        np.testing.assert_array_equal(other.value, [3, 3, 3])


class TestTracing:
    def test_a_step_is_traced_once_for_arguments_of_one_kind(self, four):
        traced = deque()

        def step(x, scale):
            traced.append(x.shape)
            return x * scale

        for _ in range(3):
            four.run(step, args=(X, 2.0))
        four.run(step, args=(X[:5], 2.0))
        assert list(traced) == [(12, 3), (5, 3)]
        np.testing.assert_allclose(four.run(step, args=(X,), kwargs={"scale": 3.0}), X * 3)

    def test_a_step_made_anew_each_time_is_the_same_step(self, four):
        traced = deque()  # unlike a list, out of sight: a step that changes those runs eagerly
        weight = keras.Variable(2.0)

        def train(x):
            def scaled(x):
                return x * weight.value

            def step(x):
                traced.append(1)
                return scaled(x)

            return four.run(step, args=(x,))

        for _ in range(4):
            np.testing.assert_allclose(train(X), X * 2)
        assert len(traced) == 1

    def test_but_not_when_it_closes_over_something_else(self, four):
        def train(factor):
            return four.run(lambda x: x * factor, args=(X,))

        np.testing.assert_allclose(train(2.0), X * 2)
        np.testing.assert_allclose(train(3.0), X * 3)

    def test_one_that_always_does_is_run_eagerly_and_that_is_said_once(self, four):
        def train(factor):
            return four.run(lambda x: x * factor[0], args=(X,))

        def trained_often():
            for i in range(15):
                np.testing.assert_allclose(train(np.full(1, float(i), "float32")), X * i)

        with pytest.warns(ManyhandsWarning, match="Pass what changes") as said:
            trained_often()
        assert len(said) == 1

    @pytest.mark.parametrize(
        "needs",
        [
            lambda x: float(np.asarray(x).sum()) > 0,
            lambda x: bool(x.sum() > 0),
            lambda x: int(x.sum() > 0) == 1,
            lambda x: print("sum", x.sum()) or float(f"{x.sum():.1f}") > 0,
        ],
    )
    def test_a_step_that_needs_values_runs_eagerly_and_says_so_once(self, four, needs):
        total = keras.Variable(0.0)

        def step(x):
            total.assign_add(keras.ops.sum(x))
            return x * 2 if needs(x) else x * 3

        with pytest.warns(ManyhandsWarning, match="step runs eagerly") as said:
            given = [four.run(step, args=(x,)) for x in (abs(X), -abs(X), abs(X))]
        assert len(said) == 1
        np.testing.assert_allclose(given[0], abs(X) * 2)
        np.testing.assert_allclose(given[1], -abs(X) * 3)
        np.testing.assert_allclose(float(total.value), abs(X).sum(), rtol=1e-5)

    def test_an_error_of_the_users_is_the_users(self, four):
        def step(x):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            four.run(step, args=(X,))


FACTOR = 1.0
SEEN = []


class Trainer:
    scale = 1.0
    count = 0

    def __init__(self):
        self.beta = 1.0
        self.unrelated = 0

    def step(self, x):
        return self.inner(x) * self.scale

    def inner(self, x):
        return x.sum() * self.beta * FACTOR

    def counting(self, x):
        self.count += 1
        SEEN.append(x.sum())
        return x.sum() * np.random.rand()


class TestPython:
    """What a step reads from Python is what it is when the step runs, compiled or not."""

    def test_attributes_and_globals_stay_fresh(self, four, monkeypatch):
        trainer, total = Trainer(), X.sum()

        def run():
            return float(four.run(trainer.step, args=(X,))) / total

        np.testing.assert_allclose(run(), 1, rtol=1e-5)
        trainer.beta = 2.0
        np.testing.assert_allclose(run(), 2, rtol=1e-5)
        trainer.scale = 5.0
        np.testing.assert_allclose(run(), 10, rtol=1e-5)
        monkeypatch.setitem(globals(), "FACTOR", 3.0)
        np.testing.assert_allclose(run(), 30, rtol=1e-5)

    def test_what_the_step_does_not_read_compiles_nothing_again(self, four):
        trainer = Trainer()

        def step(x):
            return trainer.step(x)

        runner = four._runner
        for i in range(5):
            trainer.unrelated = i
            four.run(step, args=(X,))
        assert len(runner._functions) == 1

    def test_a_step_that_changes_python_runs_eagerly_and_once_each_time(self, four):
        trainer = Trainer()
        SEEN.clear()
        np.random.seed(0)
        with pytest.warns(ManyhandsWarning, match="it changes Python objects") as said:
            given = [float(four.run(trainer.counting, args=(X,))) for _ in range(4)]
        assert len(said) == 1
        assert trainer.count == 4
        np.testing.assert_allclose([float(s) for s in SEEN], [X.sum()] * 4, rtol=1e-5)
        np.random.seed(0)
        np.testing.assert_allclose(given, X.sum() * np.random.rand(4), rtol=1e-5)

    def test_a_layer_that_is_frozen_stays_as_it_is(self, four):
        net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(net.trainable_variables)

        def step(x):
            with mh.GradientTape() as tape:
                loss = keras.ops.mean(net(x) ** 2)
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))

        four.run(step, args=(X,))
        net.layers[0].trainable = False
        before = [layer.get_weights()[0] for layer in net.layers]
        four.run(step, args=(X,))
        moved = [
            abs(layer.get_weights()[0] - b).max()
            for layer, b in zip(net.layers, before, strict=True)
        ]
        assert moved[0] == 0
        assert moved[1] > 0

    def test_a_model_made_in_each_step(self, four):
        def step(x):
            net = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
            return keras.ops.sum(net(x))

        with pytest.warns(ManyhandsWarning, match="makes new variables each time"):
            given = [float(four.run(step, args=(X,))) for _ in range(2)]
        np.testing.assert_allclose(given, [X.sum()] * 2, rtol=1e-4)


class TestValues:
    def test_a_step_sees_the_whole_batch_of_any_size(self, four):
        for rows in (1, 3, 4, 7, 12):
            [batch] = list(four.distribute_dataset([X[:rows]]))
            assert isinstance(batch, Rows)
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
