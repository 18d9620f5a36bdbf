"""What a step reads from Python is what it is when the step runs, compiled or not."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.errors import ManyhandsWarning
from tests.strategies.rows import X

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
