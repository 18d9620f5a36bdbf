"""A `fit` that was stopped anywhere goes on to the same bits as one that was not."""

from __future__ import annotations

import os
import shutil
import signal

import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.training import feed_counts
from tests.disks import mounted

ROWS, BATCH, EPOCHS = 50, 8, 4
STEPS = -(-ROWS // BATCH)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(ROWS, 4)).astype("float32"), rng.integers(0, 3, ROWS)


class CrashError(Exception):
    """What stops a program in these tests."""


class CrashAfter(keras.callbacks.Callback):
    """Stops the program at a step, counted from 1 over all epochs, or at the end of an epoch."""

    counts_launches = True

    def __init__(self, step=None, epoch=None):
        super().__init__()
        self._at, self._epoch, self._step = step, epoch, 0

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        if self._at is not None and self._step >= self._at:
            raise CrashError

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self._epoch:
            raise CrashError


def batches(count=None):
    """Yield batches, without end if no count is given."""
    step = 0
    while count is None or step < count:
        rows = slice(step % STEPS * BATCH, step % STEPS * BATCH + BATCH)
        yield X[rows] + step, Y[rows]
        step += 1


def dataset():
    return mh.data.Dataset.from_tensor_slices((X, Y)).shuffle(ROWS, seed=3).batch(BATCH)


class Turning(keras.utils.PyDataset):
    """Batches whose rows change places at the end of each epoch."""

    def __init__(self):
        super().__init__()
        self.order = np.arange(ROWS)

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        return X[rows] + np.random.normal(size=(1, 4)).astype("float32"), Y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


DATA = {
    "sequence": lambda: {"x": Turning(), "shuffle": False},
    "shuffled sequence": lambda: {"x": Turning()},
    "shuffled": lambda: {"x": X, "y": Y, "batch_size": BATCH},
    "in order": lambda: {"x": X, "y": Y, "batch_size": BATCH, "shuffle": False},
    "by batch": lambda: {"x": X, "y": Y, "batch_size": BATCH, "shuffle": "batch"},
    "steps": lambda: {"x": X, "y": Y, "batch_size": BATCH, "steps_per_epoch": 5},
    "dataset": lambda: {"x": dataset()},
    "filtered": lambda: {"x": dataset().filter(lambda x, y: True)},
    "generator": lambda: {"x": batches(), "steps_per_epoch": STEPS, "shuffle": False},
}


def model(rate=0.01):
    keras.utils.set_random_seed(7)
    with mh.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        made = keras.Sequential(
            [
                keras.Input((4,)),
                keras.layers.Dense(8, activation="relu"),
                keras.layers.Dropout(0.3),
                keras.layers.Dense(3),
            ]
        )
        made.compile(
            keras.optimizers.Adam(rate),
            keras.losses.SparseCategoricalCrossentropy(True),
            metrics=["accuracy"],
        )
    return made


def fit(data, *callbacks, epochs=EPOCHS, rate=0.01, **more):
    """Train a new model, as a program that is started again does."""
    made = model(rate)
    history = made.fit(**data, epochs=epochs, verbose=0, callbacks=[*callbacks], **more).history
    return made, history


def crash(directory, data, *callbacks, every_steps=1, step=None, epoch=None, **more):
    with pytest.raises(CrashError):
        fit(
            data,
            mh.callbacks.Resume(directory, every_steps=every_steps),
            *callbacks,
            CrashAfter(step, epoch),
            **more,
        )


def same(one, other):
    (first, history), (second, other_history) = one, other
    assert history == other_history
    for mine, theirs in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(first.optimizer.variables, second.optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


RAN_OUT = pytest.mark.filterwarnings("ignore:Your input ran out of data")  # Keras says so, too


@RAN_OUT
@pytest.mark.parametrize("kind", sorted(DATA))
def test_every_kind_of_data_goes_on(tmp_path, kind):
    make = DATA[kind]
    resume = mh.callbacks.Resume(tmp_path / "whole", every_steps=1)
    whole = fit(make(), resume)
    crash(tmp_path / "cut", make(), step=STEPS + 3)
    crash(tmp_path / "cut", make(), step=6)
    going = mh.callbacks.Resume(tmp_path / "cut", every_steps=1)
    same(fit(make(), going), whole)


@RAN_OUT
@pytest.mark.parametrize("kind", sorted(DATA))
def test_every_kind_of_data_goes_on_after_an_epoch(tmp_path, kind):
    make = DATA[kind]
    whole = fit(make(), mh.callbacks.Resume(tmp_path / "whole", every_steps=1))
    fit(make(), mh.callbacks.Resume(tmp_path / "cut"), epochs=1)
    fit(make(), mh.callbacks.Resume(tmp_path / "cut"), epochs=2)
    same(fit(make(), mh.callbacks.Resume(tmp_path / "cut")), whole)


@pytest.mark.parametrize("at", [{"epoch": 1}, {"step": 2 * STEPS}, {"step": 2 * STEPS - 1}])
def test_the_end_of_an_epoch_is_no_special_place(tmp_path, at):
    data = DATA["shuffled"]()
    whole = fit(data, mh.callbacks.Resume(tmp_path / "whole", every_steps=1))
    crash(tmp_path / "cut", data, **at)
    same(fit(data, mh.callbacks.Resume(tmp_path / "cut", every_steps=1)), whole)


@RAN_OUT
def test_a_stream_without_a_length_that_had_just_ended(tmp_path):
    data = DATA["filtered"]
    whole = fit(data(), mh.callbacks.Resume(tmp_path / "whole", every_steps=1))
    crash(tmp_path / "cut", data(), step=None, epoch=0, every_steps=STEPS)
    same(fit(data(), mh.callbacks.Resume(tmp_path / "cut", every_steps=1)), whole)


def test_steps_run_many_a_launch_and_saves_fall_between(tmp_path):
    data = {"x": np.tile(X, (20, 1)), "y": np.tile(Y, 20), "batch_size": BATCH}
    whole = fit(data)
    resume = mh.callbacks.Resume(tmp_path, every_steps=50)
    crash(tmp_path, data, step=10, every_steps=50)
    made, history = fit(data, resume)
    same((made, history), whole)
    assert max(made.train_function.steps_per_launch.values()) > 1
    counts = feed_counts(made)
    assert counts is not None
    assert 0 < counts.num_rows < EPOCHS * 20 * ROWS  # not all was done again


class TestOtherCallbacks:
    def check(self, tmp_path, make, rate=0.01, **at):
        data = DATA["shuffled"]() | {"validation_data": (X[:20], Y[:20])}
        whole = fit(data, *make(), epochs=9, rate=rate)
        cut = at or {"step": 5 * STEPS + 2}
        crash(tmp_path, data, *make(), epochs=9, rate=rate, **cut)
        others = make()
        again = fit(
            data, mh.callbacks.Resume(tmp_path, every_steps=1), *others, epochs=9, rate=rate
        )
        same(again, whole)
        return others, again

    @pytest.mark.parametrize("at", [{"step": 3 * STEPS + 2}, {"epoch": 3}])
    def test_early_stopping_stops_where_it_would_have(self, tmp_path, at):
        def make():
            return [keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)]

        others, (_, history) = self.check(tmp_path, make, rate=0.3, **at)
        assert 4 <= len(history["loss"]) < 9
        assert others[0].stopped_epoch

    def test_a_run_that_stopped_early_stays_stopped(self, tmp_path):
        def stopping():
            return keras.callbacks.EarlyStopping("loss", patience=1, min_delta=10.0)

        data = DATA["shuffled"]()
        resume = mh.callbacks.Resume(tmp_path, every_steps=3)
        whole = fit(data, resume, stopping(), epochs=9)
        assert len(whole[1]["loss"]) == 2
        for _ in range(2):
            again = fit(data, mh.callbacks.Resume(tmp_path), stopping(), epochs=9)
            same(again, whole)

    def test_the_learning_rate_is_reduced_when_it_would_have_been(self, tmp_path):
        def make():
            return [keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=0.05)]

        self.check(tmp_path, make, rate=0.1)

    def test_a_schedule_that_multiplies_does_so_once_an_epoch(self, tmp_path):
        def make():
            return [keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.7)]

        self.check(tmp_path, make, rate=0.1)

    def test_callbacks_of_the_program_go_on_counting(self, tmp_path):
        class Counter(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.epochs, self.seen = 0, []

            def on_epoch_begin(self, epoch, logs=None):
                self.epochs += 1

            def on_epoch_end(self, epoch, logs=None):
                self.seen.append(epoch)

        others, _ = self.check(tmp_path, lambda: [Counter()])
        assert others[0].epochs == 9
        assert others[0].seen == list(range(9))

    def test_a_callback_may_speak_for_itself(self, tmp_path):
        class Own(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.told = {"count": 0}

            def on_train_batch_end(self, batch, logs=None):
                self.told["count"] += 1

            def get_state(self):
                return {"sum": self.told["count"]}

            def set_state(self, state):
                self.told["count"] = state["sum"]

        others, _ = self.check(tmp_path, lambda: [Own()])
        assert others[0].told["count"] == 9 * STEPS


def test_a_finished_run_is_not_trained_again_until_more_epochs_are_asked_for(tmp_path):
    data = DATA["shuffled"]()
    whole = fit(data, epochs=6)
    for epochs in (4, 4, 4, 6):
        again = fit(data, mh.callbacks.Resume(tmp_path, every_steps=3), epochs=epochs)
    same(again, whole)


def test_a_later_fit_of_the_same_model_has_all_its_epochs(tmp_path):
    data = DATA["shuffled"]()

    def two_phases(**first):
        made, _ = fit(data, mh.callbacks.Resume(tmp_path / "a", every_steps=3), **first)
        second = mh.callbacks.Resume(tmp_path / "b", every_steps=3)
        return made, made.fit(**data, epochs=2, verbose=0, callbacks=[second]).history

    whole = two_phases()
    assert len(whole[1]["loss"]) == 2
    shutil.rmtree(tmp_path / "b")
    same(two_phases(), whole)  # the first is not done again, the second is
    made, _ = fit(data, mh.callbacks.Resume(tmp_path / "a"))
    assert made.fit(**data, epochs=2, verbose=0).epoch == [0, 1]


def test_a_callback_may_stand_alone(tmp_path):
    data = DATA["shuffled"]()
    whole = fit(data, epochs=2)
    for epochs in (1, 2):
        made = model()
        alone = mh.callbacks.Resume(tmp_path, every_steps=2)
        history = made.fit(**data, epochs=epochs, verbose=0, callbacks=alone).history
    same((made, history), whole)


REFUSED = r"(?s)cannot be written.*may write to"


@pytest.mark.parametrize("name", ["", "runs"])
def test_a_read_only_directory_is_refused_at_once(tmp_path, name):
    with mounted(tmp_path / "disk", "ro,size=1m") as disk:
        resume = mh.callbacks.Resume(disk / name)
        with pytest.raises(mh.checkpoint.CheckpointError, match=REFUSED):
            fit(DATA["shuffled"](), resume, CrashAfter(step=1))


def test_a_file_in_the_place_of_a_directory_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    resume = mh.callbacks.Resume(tmp_path / "file")
    with pytest.raises(mh.checkpoint.CheckpointError, match=REFUSED):
        fit(DATA["shuffled"](), resume, CrashAfter(step=1))


def test_sigterm_ends_a_program_again_after_a_fit_that_failed(tmp_path):
    crash(tmp_path, DATA["shuffled"](), step=2)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_saves_and_ends_with_75(tmp_path):
    class Preempt(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                os.kill(os.getpid(), signal.SIGTERM)

    data = DATA["shuffled"]()
    whole = fit(data, epochs=2)
    with pytest.raises(SystemExit) as ended:
        fit(data, mh.callbacks.Resume(tmp_path), Preempt(), epochs=2)
    assert ended.value.code == 75
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    same(fit(data, mh.callbacks.Resume(tmp_path), epochs=2), whole)


@pytest.mark.parametrize(
    "wrong", [{"every_steps": 0}, {"every_seconds": -1}, {"every_steps": True}]
)
def test_how_often_is_checked(wrong):
    with pytest.raises(mh.checkpoint.CheckpointError, match="says how often to save"):
        mh.callbacks.Resume("runs", **wrong)
