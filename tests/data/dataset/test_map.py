"""Map functions: traced where that gives the same answer, plain Python otherwise."""

from __future__ import annotations

import threading
import time

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from manyhands.data.dataset import Dataset, NotTraceable, row_key
from manyhands.errors import DataError

ROWS = np.arange(40, dtype=np.float32).reshape(20, 2)


def way_of(dataset: Dataset, stage: str = "map") -> str:
    return next(line.way for line in dataset.explain().stages if line.stage.startswith(stage))


def test_a_traceable_function_is_called_for_batches_not_rows():
    calls = []

    def double(x):
        calls.append(type(x))
        return x * 2

    dataset = Dataset.from_tensor_slices(ROWS).map(double).shuffle(20, seed=1).batch(8)
    found = np.concatenate(list(dataset))
    np.testing.assert_array_equal(np.sort(found[:, 0]), ROWS[:, 0] * 2)
    assert way_of(dataset) == "traced"
    assert len(calls) < 10  # three plain calls, then tracing


def test_after_batch_the_function_sees_whole_batches():
    shapes = []

    def centre(batch):
        shapes.append(batch.shape)
        return batch - jnp.mean(batch, axis=0)

    dataset = Dataset.from_tensor_slices(ROWS).batch(8).map(centre)
    first = next(iter(dataset))
    np.testing.assert_allclose(first, ROWS[:8] - ROWS[:8].mean(0), atol=1e-6)
    assert set(shapes) == {(8, 2)}
    assert way_of(dataset) == "traced"
    assert dataset.element_spec.shape == (None, 2)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x if x[0] > 10 else -x, "TracerBoolConversionError"),
        (lambda x: np.asarray(x) * 2, "TracerArrayConversionError"),
        (lambda x: x + np.random.default_rng().normal(), "differs"),
        (lambda x: np.ones(int(x[0]) + 1, np.float32), "shape"),
        (lambda x: float(x[0]), "ConcretizationTypeError"),
        (lambda x: str(x[0]), "text"),
    ],
)
def test_what_cannot_be_traced_runs_row_by_row_and_says_so(function, reason):
    dataset = Dataset.from_tensor_slices(ROWS).map(function)
    assert len(list(dataset)) == 20
    assert way_of(dataset).startswith("rows")
    assert reason in way_of(dataset)


def test_what_says_it_is_plain_python_is_not_traced():
    def through_python(x):
        if isinstance(x, jax.core.Tracer):
            raise NotTraceable("py_function")
        return x * 2

    dataset = Dataset.from_tensor_slices(ROWS).map(through_python)
    np.testing.assert_array_equal(np.stack(list(dataset)), ROWS * 2)
    assert "NotTraceable" in way_of(dataset)


def test_a_function_that_changes_variables_stays_plain_and_changes_them():
    counter = keras.Variable(0, dtype="int32")

    def count(x):
        counter.assign_add(1)
        return x

    dataset = Dataset.from_tensor_slices(ROWS).map(count)
    before = int(counter.value)
    assert "variables" in way_of(dataset)
    list(dataset)
    assert int(counter.value) >= before + 20


@pytest.mark.parametrize(
    ("rows", "function", "dtype"),
    [
        (np.arange(6, dtype=np.uint8), lambda x: x / 255.0, np.float32),
        (np.arange(6, dtype=np.int64), lambda x: x * 3, np.int64),
        (np.arange(6, dtype=np.float64), lambda x: x * 3, np.float64),
        (np.arange(6, dtype=np.float64), jnp.sin, np.float64),
        (np.arange(6, dtype=np.int32), lambda x: (x, 1.5), np.int32),
        (np.arange(6, dtype=np.float16), lambda x: x * 3, np.float16),
        (np.arange(6) > 2, jnp.logical_not, np.bool_),
    ],
)
def test_dtypes_are_the_same_by_every_way(rows, function, dtype):
    for batched in (True, False):
        dataset = Dataset.from_tensor_slices(rows).map(function)
        dataset = dataset.batch(4) if batched else dataset
        for element in (next(iter(dataset)), next(dataset._by_rows())):
            first = element[0] if isinstance(element, tuple) else element
            assert first.dtype == dtype
    assert way_of(dataset) == "traced"


def draws(dataset):
    return np.concatenate([np.reshape(batch, -1) for batch in dataset])


@pytest.mark.parametrize("batch_size", [1, 7, 20])
def test_each_row_has_its_own_random_numbers_whatever_the_batch(batch_size):
    def noise(x):
        return keras.random.uniform(()) + 0 * x[0]

    def seeded(size):
        dataset = Dataset.from_tensor_slices(ROWS).map(noise)
        dataset.stage.draws.seed = 3
        return dataset.batch(size)

    found = draws(seeded(batch_size))
    assert len(np.unique(found)) == 20
    np.testing.assert_array_equal(found, draws(seeded(5)))
    np.testing.assert_array_equal(found, [np.float32(x) for b in seeded(4)._by_rows() for x in b])
    dataset = seeded(batch_size)
    assert not np.array_equal(draws(dataset), draws(dataset)), "another epoch, other numbers"


def test_keras_layers_and_generators_draw_by_row():
    generator = keras.random.SeedGenerator(1)
    flip = keras.layers.RandomFlip("horizontal", seed=4)
    images = np.arange(64 * 4 * 4, dtype=np.float32).reshape(64, 4, 4, 1)

    def augment(image):
        return flip(image), keras.random.normal((), seed=generator), jax.random.uniform(row_key())

    dataset = Dataset.from_tensor_slices(images).map(augment).batch(16)
    assert way_of(dataset) == "traced"
    before = np.asarray(generator.state.value)
    flipped, normal, uniform = (np.concatenate(parts) for parts in zip(*dataset, strict=True))
    turned = (flipped != images).any(axis=(1, 2, 3))
    assert 15 < turned.sum() < 49
    assert len(np.unique(normal)) == len(np.unique(uniform)) == 64
    np.testing.assert_array_equal(before, generator.state.value)
    assert row_key() is None
    again = Dataset.from_tensor_slices(images).map(augment).batch(64)
    np.testing.assert_array_equal(next(iter(again))[1], normal)  # the generator's own seed decides


def test_outside_a_map_keras_draws_as_before():
    list(Dataset.from_tensor_slices(ROWS).map(lambda x: x + keras.random.normal((2,))))
    generator = keras.random.SeedGenerator(7)
    one, two = keras.random.normal((3,), seed=generator), keras.random.normal((3,), seed=generator)
    assert not np.array_equal(one, two)
    assert not np.array_equal(keras.random.normal((3,)), keras.random.normal((3,)))


def test_a_traceable_map_over_a_generator_is_compiled_with_its_batch():
    def rows():
        for row in ROWS:
            yield row, row[0]

    def double(x, y):
        return x * 2 + 0 * jnp.sum(x), keras.random.randint((), 0, 10**6) + jnp.int32(0 * y)

    def made():
        dataset = Dataset.from_generator(rows).map(double)
        dataset.stage.draws.seed = 1
        return dataset.batch(8)

    dataset = made()
    found, wanted = list(dataset), list(made()._by_rows())
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    assert way_of(dataset, "batch") == "traced with the map before it"
    assert [len(batch[0]) for batch in found] == [8, 8, 4]


def test_long_calls_go_to_worker_threads_and_come_back_in_order():
    seen = set()

    def slow(x):
        seen.add(threading.current_thread().name)
        time.sleep(0.002)
        return np.asarray(x) * 2

    dataset = Dataset.from_tensor_slices(np.repeat(ROWS, 5, 0)).map(slow, num_parallel_calls=4)
    np.testing.assert_array_equal(np.stack(list(dataset)), np.repeat(ROWS, 5, 0) * 2)
    assert len([name for name in seen if name.startswith("grain")]) > 1
    assert "worker threads" in way_of(dataset)
    threads = [t for t in threading.enumerate() if t.name.startswith("grain-prefetch")]
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_an_error_on_a_worker_thread_comes_where_the_row_would_have():
    def fails(x):
        time.sleep(0.001)
        if int(x) == 9:
            raise ValueError("row nine")
        return x

    rows = iter(Dataset.range(30).map(fails, num_parallel_calls=3))
    assert [int(next(rows)) for _ in range(9)] == list(range(9))
    with pytest.raises(ValueError, match="row nine"):
        next(rows)


@pytest.mark.parametrize("function", [lambda x: x, lambda x, y, z: x])
def test_the_wrong_number_of_parameters_is_named(function):
    dataset = Dataset.from_tensor_slices((ROWS, ROWS)).map(function)
    with pytest.raises(DataError, match="one parameter for each part") as caught:
        next(iter(dataset))
    assert "elements of 2 part" in str(caught.value)


def test_a_function_may_write_into_its_argument():
    def spoil(x):
        x = np.asarray(x)
        x += 1
        return x

    rows = ROWS.copy()
    for dataset in (
        Dataset.from_tensor_slices(rows).map(spoil),
        Dataset.from_tensor_slices(rows).cache().map(spoil),
        Dataset.from_tensors(rows).map(spoil),
        Dataset.from_generator(lambda: iter(rows.copy())).cache().map(spoil),
    ):
        for _ in range(2):
            for iterator in (iter(dataset), dataset._by_rows()):
                np.testing.assert_array_equal(np.reshape(list(iterator), (-1, 2)), ROWS + 1)
    np.testing.assert_array_equal(rows, ROWS)


def test_a_subclass_chooses_what_users_are_handed():
    class Handed(Dataset):
        @staticmethod
        def _emit(leaf):
            return jnp.asarray(leaf)

    seen = []

    def look(x):
        seen.append(isinstance(x, jax.Array) and not isinstance(x, np.ndarray))
        return np.asarray(x) * 2

    dataset = Handed.from_tensor_slices(ROWS).filter(lambda x: isinstance(x, jax.Array)).map(look)
    dataset = dataset.shuffle(3).batch(4).repeat(2).prefetch(1)
    assert type(dataset) is Handed
    assert all(isinstance(element, jax.Array) for element in dataset)
    assert all(isinstance(element, np.ndarray) for element in dataset.as_numpy_iterator())
    assert all(seen)
    state = dataset.reduce(np.float32(0), lambda total, batch: total + batch.sum())
    assert isinstance(state, jax.Array)
