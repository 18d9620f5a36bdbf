"""Processes that nobody seeded read the same rows in the same order: process 0's."""

from __future__ import annotations

import json

import pytest

from tests.cluster.groups import launched

PROGRAM = """
import json, random
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
import keras, numpy as np

ROWS, BATCH, EPOCHS = 43, 4, 2   # the last batch has three rows
x = np.arange(ROWS, dtype="float32")[:, None]
read = []

class Batches(keras.utils.PyDataset):
    def __init__(self, turning=False):
        super().__init__()
        self.turning, self.order = turning, np.arange(ROWS)
    def __len__(self):
        return -(-ROWS // BATCH)
    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        read.extend(rows.tolist())
        return x[rows], x[rows]
    def on_epoch_end(self):
        if self.turning:
            np.random.shuffle(self.order)

def drawn():
    for _ in range(EPOCHS):
        order = np.random.permutation(40)
        for first in range(0, 40, BATCH):
            read.extend(order[first : first + BATCH].tolist())
            yield x[order[first : first + BATCH]], x[order[first : first + BATCH]]

class Begin(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 0 and not isinstance(self.data, type(drawn())):
            read.clear()  # what Keras looked at to see what a batch is

def fit(data, **more):
    read.clear()
    Begin.data = data
    with strategy.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(1e-4), "mse")
    losses = model.fit(data, epochs=EPOCHS, verbose=0, callbacks=[Begin()], **more).history["loss"]
    return {"read": list(read), "losses": losses}

class Own(Batches):
    def __init__(self):
        super().__init__()
        self.order = np.random.default_rng().permutation(ROWS)   # nobody can know this

def each_for_itself(context):
    rng = np.random   # seeded otherwise in each process, and meant so
    rng.seed(100 + strategy.group.index)
    def rows():
        for _ in range(6):
            read.append(int(rng.randint(1000)))
            yield x[:2], x[:2]
    return mh.data.Dataset.from_generator(rows, output_signature=(
        mh.tf.TensorSpec([2, 1], "float32"), mh.tf.TensorSpec([2, 1], "float32")))

told = {
    "each": fit(strategy.distribute_datasets_from_function(each_for_itself), steps_per_epoch=2),
    "own": fit(Own()),
    "generator": fit(drawn(), steps_per_epoch=10),
    "shuffled": fit(Batches()),
    "turning": fit(Batches(turning=True), shuffle=False),
    "drawn after": [random.random(), np.random.random()],
}
print(json.dumps({"told": told}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = launched(tmp_path_factory.mktemp("unseeded"), PROGRAM, "--no-shim", "--processes", "2")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if '"told"' in line]
    told = [json.loads(line[line.index("{") :])["told"] for line in lines]
    return told, done.stdout


@pytest.mark.parametrize("kind", ["shuffled", "turning", "generator"])
def test_rows_come_in_one_order_and_once_an_epoch(told, kind):
    one, other = (each[kind] for each in told[0])
    assert one == other
    half = len(one["read"]) // 2
    for epoch in (one["read"][:half], one["read"][half:]):
        assert sorted(epoch) == list(range(half))
    assert one["read"][:half] != one["read"][half:]


def test_random_numbers_stay_in_step(told):
    one, other = told[0]
    assert one["drawn after"] == other["drawn after"]


def test_what_each_makes_for_itself_is_its_own(told):
    one, other = told[0]
    assert not set(one["each"]["read"]) & set(other["each"]["read"])


def test_what_nobody_can_make_alike_is_warned_of(told):
    (one, other), said = told
    assert one["own"]["read"] != other["own"]["read"]
    assert said.count("process 1 makes other batches than process 0") == 1
