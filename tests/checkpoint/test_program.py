"""A whole program in TensorFlow's words: killed, started again on fewer devices, same losses."""

from __future__ import annotations

import numpy as np

from tests.programs import output_of, run

PROGRAM = """
    import os, signal
    import numpy as np
    import manyhands.tf as tf

    BATCH = 8
    x = np.random.RandomState(0).randn(64, 4).astype("float32")
    y = x.sum(1, keepdims=True)
    tf.random.set_seed(1)

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(8, activation="relu"),
            tf.keras.layers.Dropout(0.2, seed=3),
            tf.keras.layers.Dense(1),
        ])
        optimizer = tf.keras.optimizers.Adam(1e-2)
        per_row = tf.keras.losses.MeanSquaredError(reduction=None)
        step = tf.Variable(0, dtype=tf.int64)
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=1).repeat().batch(BATCH)
    rows = iter(data)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step, rows=rows)
    manager = tf.train.CheckpointManager(checkpoint, {directory!r}, max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)

    @tf.function
    def train(batch):
        def one(batch):
            features, labels = batch
            with tf.GradientTape() as tape:
                loss = per_row(labels, model(features, training=True))
                loss = tf.nn.compute_average_loss(loss, global_batch_size=BATCH)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(one, (batch,)), axis=None)

    while int(step.numpy()) < 12:
        loss = train(next(rows))
        step.assign_add(1)
        print(int(step.numpy()), float(loss), flush=True)
        if int(step.numpy()) % 3 == 0:
            manager.save()
        if int(step.numpy()) == {killed_at}:
            manager.sync()
            os.kill(os.getpid(), signal.SIGKILL)
"""


def losses(text):
    return {int(step): float(loss) for step, loss in (line.split() for line in text.splitlines())}


def test_killed_and_started_again_on_fewer_devices(tmp_path):
    def program(name, killed_at):
        return PROGRAM.format(directory=str(tmp_path / name), killed_at=killed_at)

    whole = losses(output_of(program("a", 0), MANYHANDS_DEVICES="4"))
    killed = run(program("b", 8), MANYHANDS_DEVICES="4")
    assert killed.returncode == -9, killed.stderr[-2000:]
    rest = losses(output_of(program("b", 0), MANYHANDS_DEVICES="2"))
    assert list(rest) == [7, 8, 9, 10, 11, 12], "from the last save on"
    for got in (losses(killed.stdout), rest):
        for step, loss in got.items():
            np.testing.assert_allclose(loss, whole[step], rtol=1e-5)
