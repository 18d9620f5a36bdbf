"""What a step reads from Python is what it is when the step runs, compiled or not."""

from __future__ import annotations

import cProfile
import io
import pstats
import time
import types
from pathlib import Path

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.errors import ManyhandsWarning
from manyhands.keras_bridge import function
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


def counted(change, before="", then=""):
    """Run a step that changes something four times, in a program of its own."""
    module = types.ModuleType("changes")
    source = f"import collections, contextvars, pathlib, types\n{before}\n"
    source += f"def step(x, *more):\n    {change}\n    return x.sum()\n"
    exec(compile(source, "changes.py", "exec", dont_inherit=True), vars(module))
    return module


CHANGES = {
    "a counter": ("C = collections.Counter(a=2)", "C['n'] += 1", "dict(C)"),
    "an ordered dict": ("C = collections.OrderedDict(a=1)", "C['n'] = len(C)", "list(C.items())"),
    "a deque": ("C = collections.deque([1], 3)", "C.append(len(C))", "list(C)"),
    "a set": ("C = {1}", "C.add(len(C) + 1)", "sorted(C)"),
    "bytes": ("C = bytearray(b'a')", "C.extend(b'b')", "bytes(C)"),
    "a context variable": (
        "C = contextvars.ContextVar('C', default=0)",
        "C.set(C.get() + 1)",
        "C.get()",
    ),
    "a class by its method": (
        "class K:\n  n = 0\n  @classmethod\n  def bump(cls): cls.n += 1\nC = K()",
        "C.bump()",
        "K.n",
    ),
    "a slot": (
        "class S:\n  __slots__ = ('n',)\nC = S()",
        "C.n = getattr(C, 'n', 0) + 1",
        "C.n",
    ),
    "a mapping behind a view": (
        "D = {'n': 0}\nC = types.MappingProxyType(D)",
        "D['n'] = C['n'] + 1",
        "D",
    ),
    "a variable around": (
        "def made():\n  n = 0\n  def f():\n    nonlocal n\n    n += 1\n    return n\n  return f\n"
        "f = made()\nC = []",
        "C.append(f())",
        "C",
    ),
}


class TestChanges:
    @pytest.mark.parametrize("what", CHANGES)
    def test_what_a_step_changes_it_changes_once_each_time(self, four, what):
        before, change, shown = CHANGES[what]
        direct, run = counted(change, before), counted(change, before)
        for _ in range(4):
            direct.step(X)
        with pytest.warns(ManyhandsWarning, match="it changes Python objects"):
            [four.run(run.step, args=(X,)) for _ in range(4)]
        assert eval(shown, vars(run)) == eval(shown, vars(direct))

    def test_a_list_that_a_step_is_given_stays_its_own(self, four):
        log, counts = [], {"n": 0}

        def step(x, log, counts):
            log.append(1.0)
            counts["n"] += 1
            return x.sum() * counts["n"]

        with pytest.warns(ManyhandsWarning, match="a list or dict that it was given"):
            given = [float(four.run(step, args=(X, log, counts))) for _ in range(3)]
        assert (log, counts) == ([1.0] * 3, {"n": 3})
        np.testing.assert_allclose(given, X.sum() * np.arange(1, 4), rtol=1e-5)

    def test_what_is_kept_for_later_is_kept_once_and_the_step_is_compiled(self, four, recwarn):
        kept = {}

        def step(x):
            if "path" not in kept:
                kept["path"] = str(Path("a") / "b")
            return x.sum() * len(kept["path"])

        given = [float(four.run(step, args=(X,))) for _ in range(4)]
        np.testing.assert_allclose(given, [X.sum() * 3] * 4, rtol=1e-5)
        assert not [w for w in recwarn if issubclass(w.category, ManyhandsWarning)]

    def test_an_error_comes_after_what_the_step_did_before(self, four):
        counter = keras.Variable(0.0)
        stop = False

        def step(x):
            counter.assign_add(1.0)
            if stop:
                raise ValueError("stop")
            return x.sum()

        four.run(step, args=(X,))
        stop = True
        with pytest.raises(ValueError, match="stop"):
            four.run(step, args=(X,))
        assert float(counter.value) == 2.0

    @pytest.mark.parametrize(
        ("result", "compiles"),
        [
            (lambda x: (x.sum(), "train"), True),
            (lambda x: {"kind": "train", "of": x.sum()}, True),
            (lambda x: Outcome(x.sum()), False),
        ],
    )
    def test_a_step_may_give_what_is_no_tensor(self, four, result, compiles, recwarn):
        for _ in range(2):
            found, wanted = four.run(result, args=(X,)), result(X)
            assert [p for p in flat(found) if isinstance(p, str)] == [
                p for p in flat(wanted) if isinstance(p, str)
            ]
            numbers = [[p for p in flat(r) if not isinstance(p, str)] for r in (found, wanted)]
            np.testing.assert_allclose(*numbers, rtol=1e-5)
        said = [w for w in recwarn if issubclass(w.category, ManyhandsWarning)]
        assert bool(said) != compiles

    @pytest.mark.parametrize(
        ("asks", "named"),
        [
            (lambda x: x.sum() * (time.time() > 0), "time.time"),
            (lambda x: x.sum() * len(Path(__file__).read_text()), r"open|io\\."),
            (lambda x: x.sum() * len(np.loadtxt(io.StringIO("1 2"))), "loadtxt"),
            (lambda x: (print("hello"), x.sum())[1], "print"),
        ],
    )
    def test_what_asks_the_world_runs_as_python(self, four, asks, named, capsys):
        with pytest.warns(ManyhandsWarning, match=named):
            given = [float(four.run(asks, args=(X,))) for _ in range(3)]
        np.testing.assert_allclose(given, [asks(X)] * 3, rtol=1e-5)
        assert capsys.readouterr().out.count("hello") == (4 if named == "print" else 0)

    def test_numbers_that_are_new_each_time_are_told_of(self, four, monkeypatch):
        monkeypatch.setattr(function, "_MOST_KINDS", 8)

        def step(x, epoch):
            return x.sum() * epoch

        with pytest.warns(ManyhandsWarning, match=r"np.float32\(value\)") as said:
            given = [float(four.run(step, args=(X, epoch))) for epoch in range(9)]
        assert len(said) == 1
        np.testing.assert_allclose(given, X.sum() * np.arange(9), rtol=1e-5, atol=1e-6)

    def test_a_step_for_each_of_many_models_stays_compiled(self, four, recwarn):
        for fold in range(14):
            weight = keras.Variable(float(fold))
            step = lambda x, w=weight: x.sum() * w.value  # noqa: E731
            for _ in range(9):
                assert float(four.run(step, args=(X,))) == pytest.approx(X.sum() * fold, rel=1e-5)
        assert not [w for w in recwarn if issubclass(w.category, ManyhandsWarning)]

    def test_a_profiler_that_listens_already_goes_on(self, four):
        profiler = cProfile.Profile()
        profiler.enable()
        four.run(lambda x: x.sum() * FACTOR, args=(X,))
        after_the_step()
        profiler.disable()
        named = {function for _, _, function in pstats.Stats(profiler).stats}
        assert "after_the_step" in named


def after_the_step():
    pass


class Outcome:
    def __init__(self, value):
        self.value = value


def flat(result):
    if isinstance(result, Outcome):
        return [float(result.value)]
    parts = result.values() if isinstance(result, dict) else result
    return [part if isinstance(part, str) else float(part) for part in parts]
