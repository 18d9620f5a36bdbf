"""Resume in a group: large states of callbacks come back to all, and so does the one before."""

from __future__ import annotations

import random

from manyhands.checkpoint import latest_checkpoint
from tests.checkpoint.damages import DAMAGES, files
from tests.cluster.groups import launched

SOURCE = """
import hashlib, sys
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
import keras, numpy as np
SIZE = 3_000_000 if sys.argv[3] == "spans" else 30_000
keras.utils.set_random_seed(3)
x = np.random.rand(64, 4).astype("float32")

class Learning(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.numbers, self.array, self.by_epoch = [], np.zeros(1), {}

    def on_epoch_end(self, epoch, logs=None):
        self.numbers = [epoch + i / 7 for i in range(SIZE)]
        self.array = np.arange(SIZE) * (epoch + 1.5)
        self.by_epoch[epoch] = (epoch, -0.0, float("nan"))

    def told(self):
        parts = np.array(self.numbers).tobytes() + self.array.tobytes()
        parts += repr((type(self.numbers), self.array.dtype, self.by_epoch)).encode()
        return hashlib.sha256(parts).hexdigest()[:16]

class Turning(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        self.order = np.arange(64)

    def __len__(self):
        return 4

    def __getitem__(self, index):
        rows = self.order[index * 16 : index * 16 + 16]
        return x[rows], x[rows, :1]

    def on_epoch_end(self):
        np.random.shuffle(self.order)

def trained(epochs, where, *callbacks):
    keras.utils.set_random_seed(7)
    with where.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
        model.compile("adam", "mse")
    learning = Learning()
    model.fit(Turning(), epochs=epochs, verbose=0, callbacks=[learning, *callbacks], shuffle=False)
    weights = b"".join(np.asarray(part).tobytes() for part in model.get_weights())
    return [hashlib.sha256(weights).hexdigest()[:16], learning.told(), model.history.epoch]

folder, epochs, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
where = strategy if kind == "spans" else mh.MirroredStrategy()
print("cut", *trained(epochs, where, mh.callbacks.Resume(folder, every_steps=4)))
if epochs == 2:
    print("whole", *trained(3, where))
"""


def run(tmp_path, epochs, kind="spans"):
    arguments = [str(tmp_path / "runs"), str(epochs), kind]
    told = launched(tmp_path, SOURCE, "--no-shim", "--processes", "2", arguments=arguments)
    assert told.returncode == 0, told.stdout + told.stderr
    said = [line.split(maxsplit=2)[1:] for line in told.stdout.splitlines() if "[" in line[4:]]
    return {word: {rest for name, rest in said if name == word} for word, _ in said}, told.stdout


def test_what_callbacks_have_learned_comes_back_to_every_process(tmp_path):
    whole = run(tmp_path, 2)[0]["whole"]
    newest = latest_checkpoint(tmp_path / "runs")
    assert newest is not None
    largest = max(files(tmp_path / "runs" / newest), key=lambda path: path.stat().st_size)
    DAMAGES["flip_bit"](largest, random.Random(0))
    again, printed = run(tmp_path, 3)
    assert again["cut"] == whole
    assert len(whole) == 1, "both processes say the same"
    assert f"{newest} was passed by, for it is damaged: arrays/d/{largest.name}" in printed


def test_a_model_that_each_process_trains_for_itself(tmp_path):
    whole = run(tmp_path, 2, "alone")[0]["whole"]
    assert run(tmp_path, 3, "alone")[0]["cut"] == whole
