"""Keras' own saving callbacks, in processes that all save the same model to the same place."""

from __future__ import annotations

import keras

from tests.cluster.groups import launched

SOURCE = """
import sys
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
import keras, numpy as np
folder, epochs = sys.argv[1], int(sys.argv[2])
keras.utils.set_random_seed(1)
x = np.random.rand(64, 4).astype("float32")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(300), keras.layers.Dense(1)])
    model.compile("adam", "mse")
class Flushing(keras.callbacks.CSVLogger):
    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, {**logs, "rate": float(self.model.optimizer.learning_rate)})
        self.csv_file.flush()

callbacks = [
    keras.callbacks.BackupAndRestore(folder + "/backup", delete_checkpoint=False),
    keras.callbacks.ModelCheckpoint(folder + "/last.keras"),
    Flushing(folder + "/log.csv", append=True),
    keras.callbacks.ModelCheckpoint(folder + "/best.weights.h5", save_weights_only=True),
]
history = model.fit(x, x[:, :1], batch_size=32, epochs=epochs, verbose=0, callbacks=callbacks)
model.save(folder + "/end.keras")
again = keras.saving.load_model(folder + "/end.keras")
assert np.array_equal(again.get_weights()[0], model.get_weights()[0])
if strategy.group.index == 0:
    local = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    local.compile("sgd", "mse")
    logs = [keras.callbacks.CSVLogger(f"{folder}/log-of-{epochs}.csv")]
    local.fit(x, x[:, :1], verbose=0, callbacks=logs)
print("epochs", history.epoch)
"""


def test_files_are_whole_whoever_writes_them(tmp_path):
    for epochs, done in ((8, list(range(8))), (10, [8, 9])):
        options = ["--no-shim", "--processes", "2"]
        told = launched(tmp_path, SOURCE, *options, arguments=[str(tmp_path), str(epochs)])
        assert told.returncode == 0, told.stdout + told.stderr
        assert told.stdout.count(f"epochs {done}") == 2
    assert not [path.name for path in tmp_path.rglob(".process-*")]
    assert (tmp_path / "log-of-10.csv").read_text().startswith("epoch,loss")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch", *map(str, range(10))]
    last = keras.saving.load_model(tmp_path / "last.keras")
    last.load_weights(tmp_path / "best.weights.h5")
    assert {path.name for path in (tmp_path / "backup").iterdir()} >= {"latest.weights.h5"}
