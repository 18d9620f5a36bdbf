"""Programs whose printed lines were recorded with TensorFlow 2.21 itself, in semantics.txt."""

import os
import tempfile

import numpy as np
import tensorflow as tf


def n(v):
    if v is None:
        return None
    if isinstance(v, (list, tuple)):
        return [n(x) for x in v]
    return np.round(np.asarray(v).astype("float64"), 4).tolist()


def sec(name):
    print("##", name)


def T(f):
    try:
        r = f()
    except Exception as e:
        r = ("EXC", type(e).__name__)
    print(r if isinstance(r, tuple) and r and r[0] == "EXC" else n(r))


sec("tape")
x = tf.Variable(3.0)
w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
c = tf.constant([1.0, 2.0])


def g1():
    with tf.GradientTape() as t:
        y = x**2
    return t.gradient(y, x)


T(g1)


def g2():
    with tf.GradientTape(persistent=True) as t:
        t.watch(c)
        y = c * c
        z = y * y
    return [t.gradient(z, c), t.gradient(y, c), t.gradient(z, y)]


T(g2)


def g3():
    with tf.GradientTape() as t:
        y = x**2
    t.gradient(y, x)
    return t.gradient(y, x)


T(g3)


def g4():
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t1:
            y = x * x * x
        d = t1.gradient(y, x)
    return [d, t2.gradient(d, x)]


T(g4)


def g5():
    v = tf.Variable(1.0, trainable=False)
    with tf.GradientTape() as t:
        y = x * v + c[0]
    return t.gradient(y, [x, v, c])


T(g5)


def g6():
    with tf.GradientTape() as t:
        y = x * 2.0
    return t.gradient(y, [x, w], unconnected_gradients=tf.UnconnectedGradients.ZERO)


T(g6)


def g7():
    with tf.GradientTape() as t:
        t.watch(c)
        with t.stop_recording():
            s = c * 3.0
        y = tf.reduce_sum(c * s)
    return t.gradient(y, c)


T(g7)


def g8():
    with tf.GradientTape(watch_accessed_variables=False) as t:
        t.watch(w)
        y = tf.reduce_sum(tf.matmul(w, w)) * x
    return t.gradient(y, {"w": w, "x": x})["w"]


T(g8)


def g9():
    with tf.GradientTape() as t:
        t.watch(c)
        y = tf.sin(c) * c[0]
    return t.jacobian(y, c)


T(g9)


def g10():
    m = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as t:
        t.watch(m)
        y = m * m * 2.0
    return t.batch_jacobian(y, m)


T(g10)


def g11():
    with tf.GradientTape() as t:
        t.watch(c)
        y = tf.stop_gradient(c) * c
    return t.gradient(y, c)


T(g11)


@tf.custom_gradient
def cg(z):
    e = tf.exp(z)

    def grad(up):
        return up * (1 - 1 / (1 + e)) * 7.0

    return tf.math.log(1 + e), grad


def g12():
    with tf.GradientTape() as t:
        t.watch(c)
        y = cg(c)
    return t.gradient(y, c)


T(g12)


def g13():
    with tf.GradientTape() as t:
        t.watch(c)
        y = [c * 2.0, c * 3.0]
    return t.gradient(y, c)


T(g13)


def g14():
    with tf.GradientTape() as t:
        t.watch(c)
        y = c * c
    return t.gradient(y, c, output_gradients=tf.constant([10.0, 100.0]))


T(g14)


def g15():
    with tf.GradientTape() as t:
        y = x * 1.0
        x.assign_add(1.0)
        z = x * x
    r = t.gradient(z, x)
    x.assign(3.0)
    return r


T(g15)


def g16():
    with tf.GradientTape() as t:
        y = tf.cast(x, tf.int32)
    return t.gradient(y, x)


T(g16)


def g17():
    with tf.GradientTape() as t:
        y = x * 2
        l = [v.name is not None for v in t.watched_variables()]
    return [len(l)]


T(g17)
sec("function")
cnt = [0]


@tf.function
def f(a, b=2):
    cnt[0] += 1
    return a * b


T(
    lambda: [
        f(tf.constant(1.0)),
        f(tf.constant(2.0)),
        f(tf.constant([1.0, 2.0])),
        f(tf.constant(1.0), 3),
        f(tf.constant(1.0), b=3),
    ]
)
print(cnt)
v = tf.Variable(0.0)


@tf.function
def inc(d):
    v.assign_add(d)
    return v


T(lambda: [inc(1.0), inc(2.0), inc(tf.constant(1.0)), v])


class M(tf.Module):
    def __init__(s):
        super().__init__()
        s.w = tf.Variable(2.0)
        s.k = None

    @tf.function
    def __call__(s, a):
        if s.k is None:
            s.k = tf.Variable(5.0)
        return s.w * a + s.k


m = M()
T(lambda: [m(tf.constant(3.0)), m(tf.constant(4.0))])
print(len(m.variables), len(m.trainable_variables))


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def sig(a):
    cnt[0] += 100
    return tf.reduce_sum(a)


cnt[0] = 0
T(lambda: [sig(tf.constant([1.0, 2.0])), sig([1.0, 2.0, 3.0])])
T(lambda: sig(tf.constant([[1.0]])))


@tf.function
def br(a):
    if a > 0:
        return a * 2
    else:
        return a * 3


T(lambda: [br(tf.constant(1.0)), br(tf.constant(-1.0))])


@tf.function
def lp(k):
    s = tf.constant(0)
    for i in tf.range(k):
        s += i
    return s


T(lambda: lp(tf.constant(5)))


@tf.function
def wl(a):
    while tf.reduce_sum(a) < 10.0:
        a = a * 2.0
    return a


T(lambda: wl(tf.constant([1.0, 1.0])))


@tf.function
def inner(a):
    return a + 1


@tf.function
def outer(a):
    return inner(a) * inner(a)


T(lambda: outer(tf.constant(2.0)))


@tf.function
def td(d):
    return {"s": d["a"] + d["b"][0]}


T(lambda: td({"a": tf.constant(1.0), "b": [tf.constant(2.0)]})["s"])


@tf.function
def gt(a):
    with tf.GradientTape() as t:
        t.watch(a)
        y = a**3
    return t.gradient(y, a)


T(lambda: gt(tf.constant(2.0)))


def gf():
    with tf.GradientTape() as t:
        y = outer(x)
    return t.gradient(y, x)


T(gf)


@tf.function
def condvar(p):
    tf.cond(p, lambda: v.assign(100.0), lambda: v.assign(200.0))
    return v.read_value()


T(lambda: [condvar(tf.constant(True)), condvar(tf.constant(False))])
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
