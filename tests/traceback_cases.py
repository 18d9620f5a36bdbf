"""Errors of a program at every place where we run its code: what tests/test_tracebacks.py raises.

The line that is wrong in each is marked `# here`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np

import manyhands as mh
import manyhands.tf as tf

X = np.ones((4, 3), "float32")
Y = np.ones((4, 1), "float32")


def jax_shape(x):
    return x @ jnp.ones((7, 7))  # here


def keras_shape(x):
    return keras.ops.matmul(x, keras.ops.ones((7, 7)))  # here


def tf_shape(x):
    return tf.matmul(x, tf.ones([7, 7]))  # here


def dtype(x):
    return jax.lax.add(x, jnp.ones(jnp.shape(x), "int32"))  # here


def value(x):
    raise ValueError("as asked")  # here


def asserts(x):
    assert x is None, "as asked"  # here


def key(x):
    return {}["as asked"]  # here


CAUSES = [jax_shape, keras_shape, tf_shape, dtype, value, asserts, key]


def as_it_is(f):
    return f


def in_grad(f):
    return jax.grad(lambda x: jnp.sum(f(x)))


def in_vmap(f):
    return jax.vmap(f)


def in_scan(f):
    return lambda x: jax.lax.scan(lambda carry, row: (carry, f(x)), 0.0, x)


def in_jit(f):
    return jax.jit(f)


def in_cond(f):
    return lambda x: jax.lax.cond(True, f, lambda x: x, x)


def in_layer(f):
    class Failing(keras.layers.Layer):
        def call(self, x):
            return f(x)

    return Failing()


NESTINGS = [as_it_is, in_grad, in_vmap, in_scan, in_jit, in_cond, in_layer]


class Failing(keras.Model):
    """A model whose call fails."""

    def __init__(self, f):
        super().__init__()
        self.f = f
        self.last = keras.layers.Dense(1)

    def call(self, x):
        return self.last(self.f(x))


def model(strategy, f=None, loss="mse", **compiled):
    with strategy.scope():
        if f is None:
            made = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
        else:
            made = Failing(f)
        made.compile("sgd", loss, **compiled)
    return made


def run(strategy, f):
    strategy.run(f, args=(X,))


def function(strategy, f):
    tf.function(f)(X)


def function_in_run(strategy, f):
    strategy.run(tf.function(f), args=(X,))


def run_in_function(strategy, f):
    tf.function(lambda x: strategy.run(f, args=(x,)))(X)


def tape(strategy, f):
    x = tf.constant(X)
    with mh.GradientTape() as tape:
        tape.watch(x)
        f(x)


def dataset_map(strategy, f):
    list(mh.data.Dataset.from_tensor_slices(X[None]).map(f))


def dataset_map_on_threads(strategy, f):
    dataset = mh.data.Dataset.from_generator(
        lambda: iter([X]), output_signature=mh.data.TensorSpec((4, 3))
    )
    list(dataset.map(f, num_parallel_calls=4).batch(2).prefetch(1))


def dataset_filter(strategy, f):
    list(mh.data.Dataset.from_tensor_slices(X[None]).filter(f))


def distributed(strategy, f):
    list(strategy.distribute_dataset(mh.data.Dataset.from_tensor_slices(X).batch(2).map(f)))


def fit_of_a_dataset(strategy, f):
    dataset = mh.data.Dataset.from_tensor_slices((X, Y)).batch(2)
    model(strategy).fit(dataset.map(lambda x, y: (f(x), y)), verbose=0)


def fit_of_a_generator(strategy, f):
    def rows():
        yield f(X), Y

    model(strategy).fit(rows(), shuffle=False, verbose=0)


def fit(strategy, f):
    model(strategy, f).fit(X, Y, verbose=0)


def evaluate(strategy, f):
    model(strategy, f).evaluate(X, Y, verbose=0)


def predict(strategy, f):
    model(strategy, f).predict(X, verbose=0)


def on_batch(strategy, f):
    model(strategy, f).train_on_batch(X, Y)


def loss(strategy, f):
    model(strategy, loss=lambda truth, guess: f(guess)).fit(X, Y, verbose=0)


def metric(strategy, f):
    model(strategy, metrics=[lambda truth, guess: f(guess)]).fit(X, Y, verbose=0)


def train_step(strategy, f):
    with strategy.scope():

        class Stepping(keras.Sequential):
            def train_step(self, data):
                return {"loss": f(data[0])}

        made = Stepping([keras.layers.Input((3,)), keras.layers.Dense(1)])
        made.compile("sgd", "mse")
    made.fit(X, Y, verbose=0)


def callback(strategy, f):
    class Calling(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            f(jnp.asarray(X))

    model(strategy).fit(X, Y, verbose=0, callbacks=[Calling()])


PLACES = [
    *(run, function, function_in_run, run_in_function, tape, dataset_map, dataset_map_on_threads),
    *(dataset_filter, distributed, fit_of_a_dataset, fit_of_a_generator, fit, evaluate, predict),
    *(on_batch, loss, metric, train_step, callback),
]
NESTED = [run, function, tape, dataset_map, fit]
"""Places where causes are also tried inside JAX's own functions."""
