"""A loop over several workers, with a chief that keeps the checkpoints, in the shape of the guides.

With TF_CONFIG={"cluster": {"worker": ["host0:2222", "host1:2222"]},
                "task": {"type": "worker", "index": 0}}, and index 1 on the other machine:

    manyhands run guide_multi_worker.py FOLDER
"""

import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
task_type, task_id = resolver.task_type, resolver.task_id
num_workers = max(1, len(resolver.cluster_spec().as_dict().get("worker", [])))
is_chief = task_type is None or task_type == "chief" or (task_type == "worker" and task_id == 0)
folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
print("replicas:", strategy.num_replicas_in_sync, "workers:", num_workers)

rng = np.random.default_rng(0)
pictures = rng.random((300, 10, 10, 1)).astype("float32")
classes = (pictures[:, :5].mean((1, 2, 3)) > pictures[:, 5:].mean((1, 2, 3))).astype("int64")
GLOBAL_BATCH_SIZE, EPOCHS, STEPS = 60, 3, 5

dataset = tf.data.Dataset.from_tensor_slices((pictures, classes)).shuffle(300, seed=2).repeat()
dataset = strategy.experimental_distribute_dataset(dataset.batch(GLOBAL_BATCH_SIZE))

tf.random.set_seed(0)
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((10, 10, 1)),
            tf.keras.layers.Conv2D(6, 3, activation="relu", kernel_regularizer="l2"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(2),
        ]
    )
    optimizer = tf.keras.optimizers.RMSprop(0.001)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")


@tf.function
def train_step(iterator):
    def step_fn(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            predictions = model(x, training=True)
            per_example_loss = tf.keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction=tf.keras.losses.Reduction.NONE
            )(y, predictions)
            loss = tf.nn.compute_average_loss(per_example_loss, global_batch_size=GLOBAL_BATCH_SIZE)
            if model.losses:
                loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        accuracy.update_state(y, predictions)
        return loss

    per_replica_losses = strategy.run(step_fn, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)


def own_folder(base):
    """The chief keeps its files; the others write theirs aside and throw them away."""
    return base if is_chief else os.path.join(base, f"workertemp_{task_id}")


epoch = tf.Variable(tf.constant(0, dtype=tf.int64), name="epoch")
step_in_epoch = tf.Variable(tf.constant(0, dtype=tf.int64), name="step_in_epoch")
checkpoint = tf.train.Checkpoint(model=model, epoch=epoch, step_in_epoch=step_in_epoch)
written = own_folder(folder)
manager = tf.train.CheckpointManager(checkpoint, directory=written, max_to_keep=1)
latest = tf.train.latest_checkpoint(folder)
if latest:
    checkpoint.restore(latest)

iterator = iter(dataset)
while epoch.numpy() < EPOCHS:
    total_loss, num_batches = 0.0, 0
    while step_in_epoch.numpy() < STEPS:
        total_loss += train_step(iterator)
        num_batches += 1
        step_in_epoch.assign_add(1)
    print("accuracy", accuracy.result().numpy())
    print("loss", float(total_loss / num_batches))
    accuracy.reset_state()
    epoch.assign_add(1)
    step_in_epoch.assign(0)
    manager.save()
    if not is_chief:
        tf.io.gfile.rmtree(written)
