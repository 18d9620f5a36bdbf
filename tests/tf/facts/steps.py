"""Tapes and functions: what TensorFlow 2.21 printed of them is in semantics.txt."""

import tensorflow as tf
from shown import T, sec

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
