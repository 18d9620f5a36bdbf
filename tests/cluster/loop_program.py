"""What a worker of the tests runs: custom loops and data of every kind, on all processes.

    TF_CONFIG=… python -m tests.cluster.loop_program FILES      (or alone, for comparison)

Prints one line of JSON.  Numbers are float64, and every process must print the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import manyhands as mh
import manyhands.tf as tf

strategy = mh.MultiWorkerMirroredStrategy()

import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras.src.backend.common import dtypes  # noqa: E402

jax.config.update("jax_enable_x64", True)
keras.config.set_floatx("float64")
keras.config.set_dtype_policy("float64")
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # or Keras takes means in float32

ROWS, BATCH = 43, 8
rng = np.random.default_rng(0)
x, y = rng.normal(size=(ROWS, 5)), rng.integers(0, 3, size=ROWS)
read: list[int] = []


def model():
    keras.utils.set_random_seed(3)
    with strategy.scope():
        made = keras.Sequential(
            [keras.Input((5,)), keras.layers.Dense(7, activation="tanh"), keras.layers.Dense(3)]
        )
        made.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(True))
    return made


def fitted(data, **given) -> list[float]:
    made = model()
    losses = made.fit(data, epochs=2, verbose=0, **given).history["loss"]
    return [*losses, float(sum(np.abs(w).sum() for w in made.get_weights()))]


def looped() -> list[float]:
    made = model()
    loss_of = keras.losses.SparseCategoricalCrossentropy(True, reduction=None)
    data = mh.data.Dataset.from_tensor_slices((x, y)).shuffle(ROWS, seed=5).batch(BATCH)

    def step(inputs):
        features, labels = inputs
        with tf.GradientTape() as tape:
            each = loss_of(labels, made(features, training=True))
            loss = tf.nn.compute_average_loss(each, global_batch_size=BATCH)
        gradients = tape.gradient(loss, made.trainable_variables)
        made.optimizer.apply_gradients(zip(gradients, made.trainable_variables, strict=True))
        return loss

    @tf.function
    def train(inputs):
        return strategy.reduce("SUM", strategy.run(step, args=(inputs,)), axis=None)

    batches = strategy.experimental_distribute_dataset(data)
    return [float(train(batch)) for _ in range(2) for batch in batches]


def noted(row, label):
    read.append(int(row[0] * 1e6))
    return row, label


def batches_of_rows():
    for _ in range(2):
        for start in range(0, ROWS, BATCH):
            yield x[start : start + BATCH], y[start : start + BATCH]


class Sequence(keras.utils.PyDataset):
    """Batches by number."""

    def __len__(self):
        return -(-ROWS // BATCH)

    def __getitem__(self, index):
        return x[index * BATCH : (index + 1) * BATCH], y[index * BATCH : (index + 1) * BATCH]


def write_files(folder: Path) -> list[str]:
    names = [folder / f"{number}.csv" for number in range(3)]
    for number, name in enumerate(names):
        rows = range(number, ROWS, 3)
        name.write_text(
            "".join(",".join(map(repr, [*map(float, x[i]), int(y[i])])) + "\n" for i in rows)
        )
    return [str(name) for name in names]


def parsed(line):
    numbers = [float(part) for part in bytes(line).decode().split(",")]
    return np.array(numbers[:5]), np.int64(numbers[5])


def with_policy(data, policy):
    options = mh.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return data.with_options(options)


def rows_seen(data) -> list[float]:
    """Sum each global batch, as all processes see it."""
    sums = []
    for features, _ in strategy.experimental_distribute_dataset(data):
        sums.append(float(strategy.reduce("SUM", features, axis=0)[0]))
    return sums


def per_process(context):
    data = mh.data.Dataset.from_tensor_slices((x, y))
    data = data.shard(context.num_input_pipelines, context.input_pipeline_id)
    return data.batch(context.get_per_replica_batch_size(context.num_replicas_in_sync * 4))


def main() -> None:
    folder = Path(sys.argv[1])
    group = strategy.group
    policy = mh.data.AutoShardPolicy
    files = write_files(folder) if group is None else [str(folder / f"{i}.csv") for i in range(3)]
    slices = mh.data.Dataset.from_tensor_slices((x, y))
    lines = mh.data.TextLineDataset(files).map(parsed)
    told = {
        "arrays": fitted(x, y=y, batch_size=BATCH, shuffle=False),
        "dataset": fitted(slices.shuffle(20, seed=1).batch(BATCH).prefetch(2)),
        "mapped": fitted(slices.map(noted).batch(BATCH)),
        "batched map": fitted(slices.batch(BATCH).map(lambda a, b: (a * 2, b))),
        "lines": fitted(lines.batch(BATCH)),
        "generator": fitted(batches_of_rows(), steps_per_epoch=-(-ROWS // BATCH)),
        "sequence": fitted(Sequence()),
        "distributed": fitted(strategy.distribute_dataset(slices.batch(BATCH))),
        "loop": looped(),
    }
    unordered = {
        "file": sum(rows_seen(with_policy(lines.batch(BATCH), policy.FILE))),
        "function": sum(
            float(strategy.reduce("SUM", features, axis=0)[0])
            for features, _ in strategy.distribute_datasets_from_function(per_process)
        ),
    }
    seen = sorted(set(read))
    fit_file = fitted(with_policy(lines.batch(BATCH), policy.FILE)) if group else None

    def replica():
        return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, "float64")

    numbers = strategy.run(replica)
    local = [float(value) for value in strategy.experimental_local_results(numbers)]
    print(
        json.dumps(
            {
                "told": told,
                "unordered": unordered,
                "read": seen,
                "local": local,
                "fit_file": fit_file,
                "sum": float(strategy.reduce("SUM", numbers, axis=None)),
                "gathered": np.asarray(
                    strategy.gather(strategy.run(lambda a: a * 2, args=(x[:5],)), axis=0)
                ).sum(),
                "index": 0 if group is None else group.index,
            }
        )
    )


if __name__ == "__main__":
    main()
