"""What a step of a custom loop may do: variables of its own, values it needs, errors."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.errors import ManyhandsWarning
from tests.strategies.rows import X


class Net(keras.Model):
    """Builds itself when it is first called."""

    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(4, activation="tanh")
        self.second = keras.layers.Dense(1)

    def call(self, x):
        return self.second(self.first(x))


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


def traces_of(strategy) -> list[int]:
    return [function.num_traces for function in strategy._runner._functions.values()]


class TestTracing:
    def test_a_step_is_traced_once_for_arguments_of_one_kind(self, four):
        def step(x, scale):
            return x * scale

        for _ in range(3):
            four.run(step, args=(X, 2.0))
        assert traces_of(four) == [1]
        four.run(step, args=(X[:5], 2.0))
        assert traces_of(four) == [2]
        np.testing.assert_allclose(four.run(step, args=(X,), kwargs={"scale": 3.0}), X * 3)

    def test_a_step_made_anew_each_time_is_the_same_step(self, four):
        weight = keras.Variable(2.0)

        def train(x):
            def scaled(x):
                return x * weight.value

            def step(x):
                return scaled(x)

            return four.run(step, args=(x,))

        for _ in range(4):
            np.testing.assert_allclose(train(X), X * 2)
        assert traces_of(four) == [1]

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
