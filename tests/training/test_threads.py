"""Threads that share a model, a strategy or only the devices: what they get is what one would get.

Each in a process of its own: what goes wrong here ends a process, or never ends.
"""

from __future__ import annotations

import pytest

from tests.programs import output_of

HEAD = """
import copy, os, signal, threading
import manyhands as mh
mh.config.set_virtual_devices(4)
import keras, numpy as np
x = np.random.default_rng(0).normal(size=(96, 4)).astype("float32")
y = x[:, :1] * 2

def model(strategy, seed=1):
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        layers = [keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)]
        made = keras.Sequential(layers)
        made.compile("adam", "mse", metrics=["mae"])
    return made

def in_threads(*calls):
    problems, threads = [], []
    def run(call):
        try:
            call()
        except BaseException as error:
            problems.append(error)
    for call in calls:
        threads.append(threading.Thread(target=run, args=(call,), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive(), "it hangs"
    if problems:
        raise problems[0]

def same(one, other):
    for mine, theirs in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)

strategy = mh.MirroredStrategy()
"""

PROGRAMS = {
    "steps of a custom loop beside everything else": """
made, alone = model(strategy), model(strategy)
from manyhands.checkpoint import Checkpoint
import tempfile
place, rows = tempfile.mkdtemp(), x[:16]
def looped(model, turns):
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    def step(x):
        with mh.GradientTape() as tape:
            loss = keras.ops.mean((model(x, training=True) - 1) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss
    for _ in range(turns):
        float(strategy.run(step, args=(rows,)))
def repeat(call, turns=40):
    def run():
        for _ in range(turns):
            call()
    return run
checkpoint = Checkpoint(model=made)
in_threads(
    lambda: looped(made, 60),
    repeat(lambda: made.predict(x, verbose=0)),
    repeat(lambda: made.evaluate(x, y, verbose=0)),
    repeat(lambda: made.predict_on_batch(rows)),
    repeat(lambda: made(rows)),
    repeat(lambda: (checkpoint.save(place + "/c"), checkpoint.sync()), 10),
    repeat(lambda: made.save(place + "/m.keras"), 5),
    repeat(made.get_weights),
    repeat(lambda: strategy.run(lambda x: made(x), args=(rows,))),
)
looped(alone, 60)
same(made, alone)
""",
    "a custom loop that only reads, beside a fit": """
made, alone = model(strategy), model(strategy)
in_threads(
    lambda: made.fit(x, y, batch_size=16, epochs=6, shuffle=False, verbose=0),
    lambda: [strategy.run(lambda x: made(x), args=(x[:8],)) for _ in range(60)],
)
alone.fit(x, y, batch_size=16, epochs=6, shuffle=False, verbose=0)
same(made, alone)
""",
    "a custom loop that trains, beside a fit": """
made = model(strategy)
begun, done = threading.Event(), threading.Event()
optimizer = keras.optimizers.SGD(0.01)
optimizer.build(made.trainable_variables)
def step(x):
    with mh.GradientTape() as tape:
        loss = keras.ops.mean(made(x, training=True) ** 2)
    optimizer.apply(tape.gradient(loss, made.trainable_variables), made.trainable_variables)
    return loss
strategy.run(step, args=(x[:8],))
class Wait(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        begun.set()
        done.wait(60)
def train():
    assert begun.wait(60)
    try:
        strategy.run(step, args=(x[:8],))
    except mh.errors.ScopeError as error:
        assert "Another thread is training this model" in str(error), error
    else:
        raise AssertionError("it was not refused")
    finally:
        done.set()
in_threads(lambda: made.fit(x, y, epochs=1, verbose=0, callbacks=[Wait()]), train)
""",
    "many predict": """
made = model(strategy)
want = {rows: made.predict(x[:rows], batch_size=16, verbose=0) for rows in range(8, 97, 8)}
each = made.predict_on_batch(x[:8])
def predict(first):
    for turn in range(12):
        rows = 8 * (1 + (first + turn) % 12)
        got = made.predict(x[:rows], batch_size=16, verbose=0)
        np.testing.assert_array_equal(got, want[rows])
        np.testing.assert_array_equal(made.predict_on_batch(x[:8]), each)
in_threads(*(lambda first=first: predict(first) for first in range(8)))
""",
    "a model without a strategy": """
made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
want = {rows: made.predict(x[:rows], batch_size=16, verbose=0) for rows in (8, 24, 96)}
def predict():
    for rows in (8, 24, 96) * 3:
        got = made.predict(x[:rows], batch_size=16, verbose=0)
        np.testing.assert_array_equal(got, want[rows])
        made.predict_on_batch(x[:8])
in_threads(*[predict] * 8)
""",
    "a server predicts while it trains": """
class Record(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        seen.append(self.model.predict(x[:8], verbose=0).tobytes())

def fit(callbacks=()):
    made = model(strategy)
    seen.append(made.predict(x[:8], verbose=0).tobytes())
    keras.utils.set_random_seed(5)
    history = made.fit(x, y, batch_size=16, epochs=4, verbose=0, callbacks=[*callbacks])
    return made, history.history

seen = []
alone, history = fit([Record()])
allowed, seen = set(seen), []
for callbacks in ((), (keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: 0),)):
    made, ended, got, losses = model(strategy), threading.Event(), [], []
    def serve():
        while not ended.is_set():
            got.append(made.predict(x[:8], verbose=0).tobytes())
    def evaluate():
        while not ended.is_set():
            losses.append(made.evaluate(x, y, batch_size=16, verbose=0))
            np.asarray(made(x[:8]))
    def train():
        try:
            keras.utils.set_random_seed(5)
            told = made.fit(x, y, batch_size=16, epochs=4, verbose=0, callbacks=[*callbacks])
            assert told.history == history, (told.history, history)
        finally:
            ended.set()
    in_threads(train, serve, serve, serve, evaluate)
    same(made, alone)
    assert set(got) <= allowed, "a state that no step left"
    assert got and losses
""",
    "models and strategies of their own": """
def fit(made, seed):
    made.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    made.evaluate(x, y, batch_size=32, verbose=0)
places = [strategy, strategy, mh.MirroredStrategy(["cpu:0", "cpu:1"]),
          mh.MirroredStrategy(["cpu:1", "cpu:2", "cpu:3"])]
want = [model(place, seed) for seed, place in enumerate(places)]
for seed, made in enumerate(want):
    fit(made, seed)
got = [model(place, seed) for seed, place in enumerate(places)]
in_threads(*(lambda made=made, seed=seed: fit(made, seed) for seed, made in enumerate(got)))
for made, other in zip(got, want):
    same(made, other)
""",
    "steps of a loop": """
with strategy.scope():
    total = keras.Variable(0.0)
def add(rows):
    total.assign_add(keras.ops.sum(rows))
    return keras.ops.sum(rows)
ones = np.ones((16, 2), "float32")
made = model(strategy)
want = made.predict(x, verbose=0)
def run():
    for _ in range(10):
        assert float(strategy.run(add, args=(ones,))) == 32.0
def predict():
    for _ in range(10):
        np.testing.assert_array_equal(made.predict(x, verbose=0), want)
in_threads(*[run] * 6, predict, predict)
assert float(total) == 6 * 10 * 32.0
""",
    "calls of the model itself": """
made = model(strategy)
want, whole = np.asarray(made(x[:8])), made.predict(x, verbose=0)
def call():
    for _ in range(10):
        np.testing.assert_allclose(np.asarray(made(x[:8])), want, rtol=1e-5, atol=1e-6)
def predict():
    for _ in range(10):
        np.testing.assert_array_equal(made.predict(x, verbose=0), whole)
in_threads(call, call, call, predict, predict)
""",
    "batches by turns": """
made = model(strategy)
def train():
    for _ in range(10):
        made.train_on_batch(x[:16], y[:16])
        made.test_on_batch(x[:16], y[:16])
in_threads(*[train] * 4)
assert int(made.optimizer.iterations) == 40
""",
    "training inside a callback": """
class Train(keras.callbacks.Callback):
    def on_predict_batch_end(self, batch, logs=None):
        self.model.train_on_batch(x[:16], y[:16])
        in_threads(lambda: made.predict(x[:8], verbose=0))
made = model(strategy)
made.predict(x, batch_size=48, verbose=0, callbacks=[Train()])
in_threads(lambda: made.predict(x, batch_size=48, verbose=0, callbacks=[Train()]),
           lambda: made.train_on_batch(x[:16], y[:16]))
assert int(made.optimizer.iterations) == 5
copied = copy.deepcopy(made)
same(copied, made)
in_threads(lambda: copied.predict(x, verbose=0), lambda: made.predict(x, verbose=0))
""",
    "a callback waits for a thread": """
class Ask(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.ask()
    on_epoch_end = on_test_begin = on_predict_batch_end = lambda self, *_, **__: self.ask()
    def ask(self):
        in_threads(lambda: answers.append(made.predict(x[:8], verbose=0)))
        self.model.predict(x[:8], verbose=0)
answers, made = [], model(strategy)
made.fit(x, y, batch_size=48, epochs=2, verbose=0, validation_data=(x, y), callbacks=[Ask()])
assert len(answers) >= 6
made.predict(x, batch_size=48, verbose=0, callbacks=[Ask()])
""",
    "errors give the turn back": """
made = model(strategy)
want = made.predict(x, verbose=0)
class Fail(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise KeyError("mine")
def wrong():
    for bad in (lambda: made.predict(x[:, :3], verbose=0),
                lambda: made.fit(x, y, verbose=0, callbacks=[Fail()]),
                lambda: made.predict(None, verbose=0)):
        try:
            bad()
        except Exception as error:
            assert "another thread" not in str(error).lower(), error
        else:
            raise AssertionError("no error")
in_threads(wrong)
in_threads(lambda: made.predict(x, verbose=0), lambda: made.predict(x, verbose=0))
made.fit(x, y, verbose=0)
""",
    "training twice at once": """
made, begun, may_end = model(strategy), threading.Event(), threading.Event()
class Wait(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        begun.set()
        assert may_end.wait(60)
def train():
    made.fit(x, y, verbose=0, callbacks=[Wait()])
def second():
    begun.wait(60)
    try:
        for call in (lambda: made.fit(x, y, verbose=0), lambda: made.train_on_batch(x, y)):
            try:
                call()
            except mh.errors.ScopeError as error:
                assert "fix: wait until that fit has ended" in str(error)
            else:
                raise AssertionError("not refused")
    finally:
        may_end.set()
in_threads(train, second)
made.fit(x, y, verbose=0)
""",
    "Ctrl-C while waiting": """
made, begun, may_end = model(strategy), threading.Event(), threading.Event()
want = made.predict(x, verbose=0)
def slow():
    for start in range(0, 96, 48):
        begun.set()
        if start:
            assert may_end.wait(60)
        yield x[start : start + 48]
holder = threading.Thread(target=lambda: made.predict(slow(), verbose=0))
holder.start()
begun.wait(60)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    made.predict(x, verbose=0)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
may_end.set()
holder.join(60)
np.testing.assert_array_equal(made.predict(x, verbose=0), want)
""",
}


@pytest.mark.parametrize("what", sorted(PROGRAMS))
def test_threads(what):
    assert "all well" in output_of(HEAD + PROGRAMS[what] + '\nprint("all well")\n')
