"""Callbacks do what they do in Keras, and see what they see there."""

from __future__ import annotations

import csv
import importlib.util

import keras
import numpy as np
import pytest

import manyhands as mh
from tests.equality.cases import _classes, mlp

DATA = _classes(rows=50)
HELD_OUT = (DATA["x"][:13], DATA["y"][:13])


def run(callbacks, num_devices, *, epochs=4, batch_size=8, compiled=None, **more):
    """Fit, and return the history, the final weights and the callbacks."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(2)
    model = mlp()
    model.compile(
        keras.optimizers.Adam(0.05),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        **(compiled or {}),
    )
    if num_devices:
        mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).adopt(model)
    made = callbacks(model)
    history = model.fit(
        **DATA,
        batch_size=batch_size,
        epochs=epochs,
        verbose=0,
        validation_data=HELD_OUT,
        callbacks=made,
        **more,
    )
    return history.history, model, made


def same(callbacks, **more):
    got, model, made = run(callbacks, 4, **more)
    wanted, plain, plainly_made = run(callbacks, None, **more)
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-9, atol=1e-12, err_msg=name)
    for one, other in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    return made, plainly_made


@pytest.mark.usefixtures("float64")
class TestOfKeras:
    def test_early_stopping_restores_the_best_weights(self):
        made, plainly = same(
            lambda m: [
                keras.callbacks.EarlyStopping(
                    "val_loss", patience=1, restore_best_weights=True, min_delta=0.2
                )
            ],
            epochs=9,
        )
        assert made[0].stopped_epoch == plainly[0].stopped_epoch > 0

    def test_reduce_learning_rate_and_schedule(self):
        same(
            lambda m: [
                keras.callbacks.ReduceLROnPlateau("val_loss", patience=0, min_delta=1),
                keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
            ]
        )

    def test_model_checkpoint_writes_a_normal_keras_file(self, tmp_path):
        path = tmp_path / "best.keras"
        run(lambda m: [keras.callbacks.ModelCheckpoint(path, save_best_only=True)], 4)
        loaded = keras.saving.load_model(path)
        plain_path = tmp_path / "plain.keras"
        run(lambda m: [keras.callbacks.ModelCheckpoint(plain_path, save_best_only=True)], None)
        plain = keras.saving.load_model(plain_path)
        for one, other in zip(loaded.get_weights(), plain.get_weights(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)

    @pytest.mark.filterwarnings("ignore:Skipping variable loading")
    def test_model_checkpoint_in_the_middle_of_an_epoch(self, tmp_path):
        for name, num_devices in (("many", 3), ("one", None)):
            path = str(tmp_path / name) + "-{epoch}-{batch}.weights.h5"
            run(
                lambda m, path=path: [
                    keras.callbacks.ModelCheckpoint(path, save_freq=5, save_weights_only=True)
                ],
                num_devices,
                epochs=2,
            )
        many, one = (sorted(tmp_path.glob(f"{name}-*")) for name in ("many", "one"))
        assert len(many) == len(one) > 1
        for a, b in zip(many, one, strict=True):
            models = mlp(), mlp()
            models[0].load_weights(a)
            models[1].load_weights(b)
            for x, y in zip(models[0].get_weights(), models[1].get_weights(), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-9)

    def test_csv_logger(self, tmp_path):
        run(lambda m: [keras.callbacks.CSVLogger(tmp_path / "log.csv")], 4)
        with (tmp_path / "log.csv").open() as lines:
            rows = list(csv.DictReader(lines))
        history = run(lambda m: [], None)[0]
        np.testing.assert_allclose([float(r["loss"]) for r in rows], history["loss"], rtol=1e-9)

    def test_backup_and_restore_continues_after_a_crash(self, tmp_path):
        class Crash(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                if epoch == 2:
                    raise RuntimeError("power cut")

        def backup(*more):
            return lambda m: [keras.callbacks.BackupAndRestore(tmp_path / "backup"), *more]

        with pytest.raises(RuntimeError, match="power cut"):
            run(backup(Crash()), 4, shuffle=False)
        _, continued, _ = run(backup(), 4, shuffle=False)
        _, whole, _ = run(lambda m: [], None, shuffle=False)
        assert int(continued.optimizer.iterations.value) == int(whole.optimizer.iterations.value)
        for one, other in zip(continued.get_weights(), whole.get_weights(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)

    @pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("tensorflow", "tensorboard")),
        reason="Keras' TensorBoard callback needs TensorFlow and TensorBoard",
    )
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_tensorboard(self, tmp_path):
        same(lambda m: [keras.callbacks.TensorBoard(tmp_path, update_freq=3)])
        assert list(tmp_path.rglob("events.out.tfevents.*"))

    def test_swap_ema_weights(self):
        optimizer = {"optimizer": keras.optimizers.Adam(0.05, use_ema=True)}
        for num_devices in (4, None):
            keras.utils.set_random_seed(2)
            model = mlp()
            model.compile(
                keras.optimizers.Adam(0.05, use_ema=True), "sparse_categorical_crossentropy"
            )
            if num_devices:
                mh.MirroredStrategy(["cpu:0", "cpu:1", "cpu:2"]).adopt(model)
            history = model.fit(
                **DATA,
                validation_data=HELD_OUT,
                epochs=3,
                verbose=0,
                callbacks=[keras.callbacks.SwapEMAWeights(swap_on_epoch=True)],
            )
            optimizer[num_devices] = history.history["val_loss"]
        np.testing.assert_allclose(optimizer[4], optimizer[None], rtol=1e-9)


class Seen(keras.callbacks.Callback):
    """Writes down every call with its logs."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def on_train_batch_begin(self, batch, logs=None):
        self.calls.append(("begin", batch, {}))

    def on_train_batch_end(self, batch, logs=None):
        self.calls.append(("end", batch, dict(logs)))

    def on_test_batch_end(self, batch, logs=None):
        self.calls.append(("test", batch, dict(logs)))


@pytest.mark.usefixtures("float64")
class TestOfUsers:
    @pytest.mark.parametrize("compiled", [{}, {"steps_per_execution": 3}])
    def test_batches_are_seen_one_by_one_with_their_logs(self, compiled):
        (got,), (wanted,) = same(lambda m: [Seen()], compiled=compiled, epochs=2)
        assert [call[:2] for call in got.calls] == [call[:2] for call in wanted.calls]
        for (_, _, one), (_, _, other) in zip(got.calls, wanted.calls, strict=True):
            assert one.keys() == other.keys()
            np.testing.assert_allclose(list(one.values()), list(other.values()), rtol=1e-9)

    def test_lambda_callbacks_on_batches(self):
        losses = {4: [], None: []}
        for num_devices, seen in losses.items():
            run(
                lambda m, seen=seen: [
                    keras.callbacks.LambdaCallback(
                        on_train_batch_end=lambda batch, logs: seen.append(logs["loss"])
                    )
                ],
                num_devices,
            )
        np.testing.assert_allclose(losses[4], losses[None], rtol=1e-9)

    def test_weights_can_be_read_in_the_middle_of_an_epoch(self):
        class Reader(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.read = []

            def on_train_batch_end(self, batch, logs=None):
                self.read.append(self.model.get_weights()[0].sum())

        (got,), (wanted,) = same(lambda m: [Reader()])
        np.testing.assert_allclose(got.read, wanted.read, rtol=1e-9)
        assert len(set(got.read)) == len(got.read)

    def test_weights_can_be_read_without_asking_keras_to_sync(self):
        read = []
        run(
            lambda m: [
                keras.callbacks.LambdaCallback(
                    on_train_batch_end=lambda batch, logs: read.append(m.get_weights()[0].sum())
                )
            ],
            4,
        )
        assert len(set(read)) == len(read) == 4 * 7

    def test_weights_and_learning_rate_can_be_set_in_the_middle_of_an_epoch(self):
        class Setter(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 3:
                    self.model.set_weights([w * 0.5 for w in self.model.get_weights()])
                    self.model.optimizer.learning_rate = 0.01

        same(lambda m: [Setter()])

    def test_training_can_be_stopped_in_the_middle_of_an_epoch(self):
        class Stopper(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 2:
                    self.model.stop_training = True

        same(lambda m: [Stopper()])
        model = run(lambda m: [Stopper()], 4)[1]
        assert int(model.optimizer.iterations.value) == 3

    def test_a_callback_may_evaluate_and_predict(self):
        class Looks(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.seen = []

            def on_train_batch_end(self, batch, logs=None):
                if batch == 4:
                    self.seen.append(self.model.evaluate(*HELD_OUT, verbose=0)[0])

            def on_epoch_end(self, epoch, logs=None):
                self.seen.append(self.model.predict(HELD_OUT[0], verbose=0).sum())

        (got,), (wanted,) = same(lambda m: [Looks()])
        np.testing.assert_allclose(got.seen, wanted.seen, rtol=1e-9)

    def test_a_callback_may_change_the_data_between_epochs(self):
        def fit(num_devices):
            keras.utils.set_random_seed(2)
            x = DATA["x"].copy()

            def change(epoch, logs):
                x[:] = x * 0.5

            model = mlp()
            if num_devices:
                mh.MirroredStrategy(["cpu:0", "cpu:1", "cpu:2"]).adopt(model)
            callback = keras.callbacks.LambdaCallback(on_epoch_end=change)
            return model.fit(
                x, DATA["y"], batch_size=8, epochs=3, verbose=0, callbacks=[callback]
            ).history["loss"]

        np.testing.assert_allclose(fit(3), fit(None), rtol=1e-9)


def test_the_progress_bar_of_keras_ends_on_the_same_line(capsys):
    for num_devices in (4, None):
        keras.utils.set_random_seed(2)
        model = mlp()
        if num_devices:
            mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).adopt(model)
        model.fit(**DATA, batch_size=8, epochs=2, verbose=2)
    printed = [line for line in capsys.readouterr().out.splitlines() if "loss" in line]
    many, one = printed[:2], printed[2:]
    for a, b in zip(many, one, strict=True):
        assert a.split(" - ")[0] == b.split(" - ")[0] == "7/7"
        assert [part.split(":")[0] for part in a.split(" - ")[3:]] == ["accuracy", "loss"]
        for x, y in zip(a.split(" - ")[3:], b.split(" - ")[3:], strict=True):
            assert abs(float(x.split(":")[1]) - float(y.split(":")[1])) < 2e-4
