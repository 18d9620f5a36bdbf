"""Datasets, files, strategies: what TensorFlow 2.21 printed of them is in semantics.txt."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from shown import T, n, sec

sec("data")
ds = tf.data.Dataset.range(10).map(lambda z: z * 2).filter(lambda z: z > 4).batch(3)
print(
    [b.numpy().tolist() for b in ds],
    ds.cardinality().numpy() if hasattr(ds.cardinality(), "numpy") else ds.cardinality(),
)
ds = tf.data.Dataset.from_tensor_slices(
    {"a": np.arange(4.0), "b": np.arange(8).reshape(4, 2)}
).batch(3)
for e in ds:
    print(sorted(e), e["a"].shape, e["b"].numpy().tolist())
print(
    [
        tuple(int(q) for q in z)
        for z in tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(5, 8)))
    ]
)
print(
    list(tf.data.Dataset.range(3).repeat(2).as_numpy_iterator()),
    [int(i) for i, _ in tf.data.Dataset.range(3).enumerate(5)],
)
it = iter(tf.data.Dataset.range(2))
print(next(it).numpy(), it.get_next().numpy())
try:
    next(it)
except StopIteration:
    print("stop")


def gen():
    for i in range(3):
        yield i, [i] * i


ds = tf.data.Dataset.from_generator(
    gen, output_signature=(tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32))
)
print(
    [
        (int(a), b.numpy().tolist())
        for a, b in ds.padded_batch(2, padded_shapes=([], [None])).unbatch()
    ]
)
print(
    len(tf.data.Dataset.range(7).batch(2)),
    len(tf.data.Dataset.range(7).batch(2, drop_remainder=True)),
)
print(int(tf.data.Dataset.range(5).reduce(np.int64(0), lambda s, e: s + e)))
print(
    [w.numpy().tolist() for w in tf.data.Dataset.range(4).window(2).flat_map(lambda q: q.batch(2))]
)
print(
    [
        int(q)
        for q in tf.data.Dataset.range(3).interleave(
            lambda q: tf.data.Dataset.from_tensors(q).repeat(2), cycle_length=2
        )
    ]
)
print(
    [
        int(q)
        for q in tf.data.Dataset.range(6)
        .shard(3, 1)
        .concatenate(tf.data.Dataset.range(2))
        .skip(1)
        .take(2)
    ]
)
sec("misc")
v = tf.Variable(200.0)
with tempfile.TemporaryDirectory() as d:
    p = os.path.join(d, "x.tfrecord")
    with tf.io.TFRecordWriter(p) as wr:
        for i in range(3):
            wr.write(
                tf.train.Example(
                    features=tf.train.Features(
                        feature={
                            "i": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                            "s": tf.train.Feature(
                                bytes_list=tf.train.BytesList(value=[b"a%d" % i])
                            ),
                            "f": tf.train.Feature(
                                float_list=tf.train.FloatList(value=[i, i + 0.5])
                            ),
                        }
                    )
                ).SerializeToString()
            )
    spec = {
        "i": tf.io.FixedLenFeature([], tf.int64),
        "s": tf.io.FixedLenFeature([], tf.string),
        "f": tf.io.FixedLenFeature([2], tf.float32),
    }
    for e in tf.data.TFRecordDataset(p).map(lambda r: tf.io.parse_single_example(r, spec)):
        print(
            int(e["i"]),
            e["s"].numpy() if hasattr(e["s"], "numpy") else e["s"],
            e["f"].numpy().tolist(),
        )
    w_ = tf.summary.create_file_writer(d)
    with w_.as_default():
        for s in range(2):
            tf.summary.scalar("loss", 0.5 * s, step=s)
    print(len([q for q in os.listdir(d) if "tfevents" in q]))
    ck = tf.train.Checkpoint(v=v, step=tf.Variable(7))
    path = ck.save(os.path.join(d, "ck"))
    v.assign(0.0)
    ck.step.assign(0)
    ck.restore(path).assert_consumed()
    print(
        float(v),
        int(ck.step),
        os.path.basename(path),
        os.path.basename(tf.train.latest_checkpoint(d)),
    )
    tf.io.gfile.makedirs(os.path.join(d, "q/r"))
    print(tf.io.gfile.exists(os.path.join(d, "q")), tf.io.gfile.isdir(p))
    with tf.io.gfile.GFile(os.path.join(d, "t.txt"), "w") as fh:
        fh.write("hi\n")
    print(
        [
            q.numpy() if hasattr(q, "numpy") else q
            for q in tf.data.TextLineDataset(os.path.join(d, "t.txt"))
        ]
    )
tf.print("tfprint", tf.constant([1, 2]), 3)
s = tf.distribute.MirroredStrategy(["cpu:0"])
print(
    s.num_replicas_in_sync,
    tf.distribute.has_strategy(),
    tf.distribute.in_cross_replica_context(),
    tf.distribute.get_strategy() is not None,
)
with s.scope():
    print(
        tf.distribute.has_strategy(),
        tf.distribute.in_cross_replica_context(),
        tf.distribute.get_replica_context(),
    )


def rep():
    ctx = tf.distribute.get_replica_context()
    return ctx.num_replicas_in_sync * 10 + ctx.replica_id_in_sync_group


T(lambda: s.run(rep))
T(lambda: s.reduce("MEAN", s.run(lambda z: z * 2.0, args=(tf.constant([1.0, 2.0]),)), axis=0))
T(lambda: s.gather(tf.constant([1.0]), axis=0))
print([n(q) for q in s.experimental_local_results(tf.constant([1.0]))])
sec("choosing")


def listed(dataset):
    return [np.asarray(one).tolist() for one in dataset]


def three():
    return [
        tf.data.Dataset.from_tensors(np.int32(which)).repeat(times)
        for which, times in ((0, 3), (1, 2), (2, 1))
    ]


turns = tf.data.Dataset.range(3).repeat(3)
print(listed(tf.data.Dataset.choose_from_datasets(three(), turns)))
print(listed(tf.data.Dataset.choose_from_datasets(three(), turns, stop_on_empty_dataset=False)))
print(listed(tf.data.experimental.choose_from_datasets(three(), turns)))
print(listed(tf.data.Dataset.sample_from_datasets(three(), [0.0, 1.0, 0.0])))
print(sorted(listed(tf.data.Dataset.sample_from_datasets(three(), [0.2, 0.3, 0.5], seed=1))))
print(listed(tf.data.Dataset.range(5).scan(np.int64(2), lambda s, q: (s + q, s * q))))
print(listed(tf.data.Dataset.range(9).take_while(lambda q: q < 4)))
lengths = [7, 3, 1, 4, 0, 5, 9, 2, 6]
words = tf.data.Dataset.from_generator(
    lambda: ([one] * one for one in lengths), output_signature=tf.TensorSpec([None], tf.int32)
)
for options in ({}, {"drop_remainder": True}, {"pad_to_bucket_boundary": True}):
    bucketed = words.bucket_by_sequence_length(
        lambda q: tf.shape(q)[0], [3, 6, 10], [4, 2, 2, 1], **options
    )
    print(listed(bucketed))
sec("averages")
followed = tf.Variable([1.0, 2.0])
updates = tf.Variable(0)
averages = tf.train.ExponentialMovingAverage(0.9)
faster = tf.train.ExponentialMovingAverage(0.9, num_updates=updates)
print(averages.average(followed))


@tf.function
def follow(value):
    followed.assign(value)
    averages.apply([followed])


for value in ([3.0, 5.0], [4.0, 6.0]):
    follow(tf.constant(value))
    faster.apply([followed])
    updates.assign_add(3)
    T(lambda: [averages.average(followed), faster.average(followed)])
