"""tf.function: traced once a kind of arguments, with TensorFlow's words."""

from __future__ import annotations

import gc
import weakref
from collections import deque

import keras
import numpy as np
import pytest

import manyhands.tf as tf
from manyhands.errors import ManyhandsWarning


def test_it_is_traced_for_shapes_dtypes_and_python_values():
    traced = []

    @tf.function
    def double(x, times=2):
        traced.append(times)
        return x * times

    double(tf.constant(1.0))
    double(tf.constant(2.0))
    assert traced == [2]
    double(tf.constant([1.0]))
    double(tf.constant(1))
    double(tf.constant(1.0), 3)
    double(tf.constant(1.0), times=3)
    assert traced == [2, 2, 2, 3]
    assert double.experimental_get_tracing_count() == 4
    assert double.python_function(2) == 4
    assert double.__name__ == "double"


def test_retracing_often_is_said_once():
    @tf.function
    def add(x, n):
        return x + n

    with pytest.warns(ManyhandsWarning, match="triggered tf.function retracing") as said:
        [add(tf.constant(1.0), n) for n in range(8)]
    assert len(said) == 1


def test_methods_have_traces_of_their_own():
    class Scale(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = tf.Variable(factor)

        @tf.function
        def __call__(self, x):
            return x * self.factor

    two, three = Scale(2.0), Scale(3.0)
    assert float(two(tf.constant(5.0))) == 10.0
    assert float(three(tf.constant(5.0))) == 15.0
    two.factor.assign(4.0)
    assert float(two(tf.constant(5.0))) == 20.0
    assert [v.trainable for v in two.variables] == [True]


def test_signatures_are_checked():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def total(x):
        return tf.reduce_sum(x)

    assert float(total(tf.ones([3, 2]))) == 6.0
    assert float(total([[1.0, 2.0]])) == 3.0
    with pytest.raises(TypeError, match="expected shape"):
        total(tf.ones([3]))
    with pytest.raises(TypeError, match="expected dtype"):
        total(tf.ones([3, 2], tf.int32))


@pytest.mark.parametrize(
    "options", [{}, {"jit_compile": True}, {"reduce_retracing": True}, {"autograph": False}]
)
def test_options_are_taken(options):
    assert float(tf.function(lambda x: x + 1, **options)(tf.constant(1.0))) == 2.0


def test_branches_on_values_run_eagerly():
    @tf.function
    def positive(x):
        if x > 0:
            return x
        return -x

    with pytest.warns(ManyhandsWarning, match="positive runs eagerly"):
        assert float(positive(tf.constant(-3.0))) == 3.0
    assert float(positive(tf.constant(4.0))) == 4.0


def test_numpy_inside_runs_eagerly():
    seen = []

    @tf.function
    def look(x):
        seen.append(x.numpy())
        return x

    with pytest.warns(ManyhandsWarning, match=r"it calls .numpy\(\)"):
        look(tf.constant(1.0))
    look(tf.constant(2.0))
    assert [float(s) for s in seen] == [1.0, 2.0]


def test_loops_over_data_run_what_they_call_compiled(recwarn):
    strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(2))
    traced = deque()

    def step(x):
        traced.append(1)
        return tf.reduce_sum(x)

    @tf.function
    def epoch(data):
        total = 0
        for x in data:
            total += strategy.run(step, args=(x,))
        return total

    @tf.function
    def next_one(iterator):
        return strategy.run(step, args=(next(iterator),))

    assert int(epoch(data)) == 15
    iterator = iter(data)
    assert [int(next_one(iterator)) for _ in range(3)] == [1, 5, 9]
    assert len(traced) == 1
    assert not [w for w in recwarn if issubclass(w.category, ManyhandsWarning)]


def test_a_tape_around_a_function_and_a_function_around_a_tape():
    weight = tf.Variable(3.0)

    @tf.function
    def square(x):
        return (weight * x) ** 2

    with tf.GradientTape() as tape:
        y = square(tf.constant(2.0))
    assert float(tape.gradient(y, weight)) == 24.0

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        return tape.gradient(y, x)

    assert float(slope(tf.constant(2.0))) == 36.0


def test_branches_that_write_variables_stay_compiled(recwarn):
    count = tf.Variable(0.0)

    @tf.function
    def bump(up):
        tf.cond(up, lambda: count.assign_add(1.0), lambda: count.assign_sub(10.0))
        return count.read_value()

    assert [float(bump(tf.constant(up))) for up in (True, True, False)] == [1.0, 2.0, -8.0]
    assert bump.experimental_get_tracing_count() == 1
    assert not [str(w.message) for w in recwarn.list]


def test_run_functions_eagerly():
    calls = []
    function = tf.function(lambda x: calls.append(1) or x)
    tf.config.run_functions_eagerly(True)
    try:
        for _ in range(3):
            function(tf.constant(1.0))
        assert tf.config.functions_run_eagerly()
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(calls) == 3


def test_variables_may_be_made_at_the_first_call_only():
    class Lazy(tf.Module):
        w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([2]))
            return self.w * x

    lazy = Lazy()
    np.testing.assert_array_equal(lazy(tf.constant([1.0, 2.0])), [1, 2])
    lazy.w.assign([3.0, 3.0])
    np.testing.assert_array_equal(lazy(tf.constant([1.0, 2.0])), [3, 6])


def test_printing_happens_when_the_step_runs(capfd):
    @tf.function
    def shout(x):
        tf.print("value:", x)
        return x + 1

    for i in range(2):
        shout(tf.constant(float(i))).block_until_ready()
    import jax

    jax.effects_barrier()
    assert capfd.readouterr().err.count("value:") == 2


def test_what_is_printed_looks_as_in_tensorflow(capfd):
    tf.print([1.0, 2.5], tf.constant([1.0, 2.5]), tf.range(20), {"a": tf.constant(1)}, 3)
    tf.print(tf.range(8), summarize=-1)
    assert capfd.readouterr().err.splitlines() == [
        "[1.0, 2.5] [1 2.5] [0 1 2 ... 17 18 19] {'a': 1} 3",
        "[0 1 2 3 4 5 6 7]",
    ]


def test_custom_gradients_work_in_fit_too():
    @tf.custom_gradient
    def doubled(x):
        return x, lambda seed: seed * 2.0

    def trained(layer):
        keras.utils.set_random_seed(0)
        net = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1), layer])
        net.compile(keras.optimizers.SGD(0.1), "mse")
        before = net.get_weights()[0]
        net.fit(np.ones((4, 2)), np.zeros((4, 1)), batch_size=4, verbose=0)
        return net.get_weights()[0] - before

    plain = trained(keras.layers.Identity())
    np.testing.assert_allclose(trained(keras.layers.Lambda(doubled)), 2 * plain, rtol=1e-5)


def test_a_custom_gradient_may_want_variables():
    weight = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        def gradient(seed, variables=None):
            return seed * weight * 10.0, [seed * x * 100.0 for _ in variables]

        return weight * x, gradient

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, weight])

    for run in (gradients, tf.function(gradients)):
        assert [float(g) for g in run(tf.constant(3.0))] == [20.0, 300.0]


def test_tensor_arrays_are_filled_in_loops(recwarn):
    @tf.function
    def squares(count):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in range(count):
            array = array.write(i, tf.cast(i, tf.float32) ** 2)
        return array.stack()

    np.testing.assert_array_equal(squares(4), [0, 1, 4, 9])
    array = tf.TensorArray("float32", size=3).write(1, [1.0, 2.0])
    np.testing.assert_array_equal(array.stack(), [[0, 0], [1, 2], [0, 0]])
    np.testing.assert_array_equal(array.gather([1]), [[1, 2]])
    assert array.unstack(tf.ones([2, 3])).size() == 2
    assert array.read(0).shape == (3,)
    with pytest.raises(IndexError, match="not resizeable"):
        array.write(5, [0.0, 0.0, 0.0])
    assert not [str(w.message) for w in recwarn.list]


def test_objects_with_compiled_methods_can_go():
    class Holder:
        @tf.function
        def double(self, x):
            return x * 2

    holder = Holder()
    holder.double(tf.constant(1.0))
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None
