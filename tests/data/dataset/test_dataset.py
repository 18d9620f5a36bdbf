"""What the words mean: facts recorded from tf.data, and errors."""

from __future__ import annotations

import re
from collections import namedtuple

import numpy as np
import pytest

from manyhands.data import Dataset
from manyhands.data import dataset as names
from manyhands.data.dataset import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    AutoShardPolicy,
    Options,
    TensorSpec,
)
from manyhands.data.gather import take_rows
from manyhands.errors import DataError

ROWS = np.arange(20, dtype=np.float32).reshape(10, 2)


def numbers(dataset) -> list:
    return [np.asarray(x).tolist() for x in dataset]


def test_python_numbers_have_tensorflows_types():
    assert Dataset.from_tensor_slices([1.0, 2.0]).element_spec == TensorSpec((), np.float32)
    assert Dataset.from_tensor_slices([1, 2]).element_spec == TensorSpec((), np.int32)
    assert Dataset.from_tensors(2.5).element_spec == TensorSpec((), np.float32)
    assert Dataset.from_tensors(True).element_spec == TensorSpec((), np.bool_)
    assert Dataset.range(3).element_spec == TensorSpec((), np.int64)
    assert Dataset.from_tensor_slices(ROWS.astype(np.float64)).element_spec.dtype == np.float64
    text = Dataset.from_tensor_slices(np.array(["a", "ü"]))
    assert list(text) == [b"a", "ü".encode()]
    assert repr(text.element_spec) == "TensorSpec(shape=(), dtype=string)"


def test_nesting_is_kept():
    Pair = namedtuple("Pair", ["x", "y"])
    dataset = Dataset.from_tensor_slices({"b": ROWS, "a": Pair(ROWS, [1] * 10)}).batch(3)
    element = next(iter(dataset))
    assert list(element) == ["b", "a"]
    assert isinstance(element["a"], Pair)
    assert dataset.element_spec["a"].y == TensorSpec((None,), np.int32)
    assert Dataset.range(9).batch(4, drop_remainder=True).element_spec.shape == (4,)


def test_shuffle_never_looks_further_than_its_buffer():
    for size in (1, 2, 5, 50):
        for seed in range(5):
            order = numbers(Dataset.range(50).shuffle(size, seed=seed))
            assert sorted(order) == list(range(50))
            assert all(row < place + size for place, row in enumerate(order))
    assert numbers(Dataset.range(50).shuffle(1)) == list(range(50))


def test_shuffle_is_even():
    firsts = [numbers(Dataset.range(4).shuffle(4, seed=s).take(1))[0] for s in range(4000)]
    counts = np.bincount(firsts)
    assert abs(counts - 1000).max() < 120  # four standard deviations


def test_seeds_repeat_and_iterations_differ():
    def made(**options):
        return Dataset.range(100).shuffle(100, seed=7, **options)

    one, other = made(), made()
    assert numbers(one) == numbers(other)
    assert numbers(one) == numbers(other) != numbers(made())
    fixed = made(reshuffle_each_iteration=False)
    assert numbers(fixed) == numbers(fixed)
    epochs = np.reshape(numbers(made().repeat(3)), (3, 100)).tolist()
    assert len({tuple(epoch) for epoch in epochs}) == 3
    derived = made()
    assert numbers(derived.batch(100)) != numbers(derived.batch(100))


def test_a_shuffle_in_two_places_draws_for_each():
    def made():
        shuffled = Dataset.range(30).shuffle(30, seed=7)
        return Dataset.zip((shuffled, Dataset.zip((shuffled.repeat(2),))))

    pairs = [(int(a), int(b[0])) for a, b in made()]
    assert pairs == [(int(a), int(b[0])) for a, b in made()._by_rows()]
    assert [a for a, _ in pairs] != [b for _, b in pairs]


def test_an_unseeded_shuffle_follows_keras():
    import keras

    def drawn():
        keras.utils.set_random_seed(3)
        return numbers(Dataset.range(50).shuffle(50))

    assert drawn() == drawn()


@pytest.mark.parametrize(
    ("dataset", "length"),
    [
        (lambda d: d, 10),
        (lambda d: d.batch(3), 4),
        (lambda d: d.batch(3, drop_remainder=True), 3),
        (lambda d: d.repeat(3), 30),
        (lambda d: d.repeat(), INFINITE_CARDINALITY),
        (lambda d: d.repeat(0), 0),
        (lambda d: d.repeat().take(4), 4),
        (lambda d: d.take(40), 10),
        (lambda d: d.skip(7), 3),
        (lambda d: d.skip(70), 0),
        (lambda d: d.shard(3, 1), 3),
        (lambda d: d.filter(lambda x: True), UNKNOWN_CARDINALITY),
        (lambda d: d.map(lambda x: x).shuffle(4).cache().prefetch(1), 10),
        (lambda d: d.batch(5, True).unbatch(), 10),
        (lambda d: d.batch(4).unbatch(), UNKNOWN_CARDINALITY),
        (lambda d: Dataset.zip((d, d.repeat())), 10),
        (lambda d: d.concatenate(d), 20),
        (lambda d: d.window(4), 3),
        (lambda d: d.scan(0, lambda state, x: (state, x)), 10),
        (lambda d: d.take_while(lambda x: True), UNKNOWN_CARDINALITY),
        (lambda d: Dataset.sample_from_datasets([d, d]), UNKNOWN_CARDINALITY),
        (lambda d: Dataset.sample_from_datasets([d, d.repeat()]), INFINITE_CARDINALITY),
        (lambda d: Dataset.sample_from_datasets([d, d], [1, 0]), 10),
        (lambda d: Dataset.choose_from_datasets([d.repeat()], d), UNKNOWN_CARDINALITY),
    ],
)
def test_cardinality(dataset, length):
    made = dataset(Dataset.range(10))
    assert made.cardinality() == length
    if length < 0:
        with pytest.raises(TypeError, match="length"):
            len(made)
    else:
        assert len(made) == length == len(list(made))


def test_explain_shows_each_stage_and_its_way():
    dataset = Dataset.from_tensor_slices(ROWS).shuffle(10).map(lambda x: x * 2).batch(4).prefetch(2)
    ways = [line.way.split(" ")[0] for line in dataset.explain().stages]
    assert ways == ["index", "index", "traced", "index", "a"]
    text = str(dataset.explain())
    assert text.splitlines()[0].split() == ["stage", "runs", "by", "elements"]
    calls = []
    read = Dataset.from_generator(lambda: calls.append(1) or iter([1])).map(lambda x: x)
    assert "first element" in str(read.explain())
    assert not calls, "nobody starts a user's generator just to look"
    list(read)
    assert "first element" not in str(read.explain())


def test_row_numbers_for_whoever_keeps_the_arrays():
    def made():
        dataset = Dataset.from_tensor_slices((ROWS, np.arange(10))).shuffle(6, seed=2)
        return dataset.repeat(2).batch(3).prefetch(1)

    plan = made().as_rows()
    assert plan is not None
    assert (plan.batch_size, plan.num_batches, plan.drop_remainder) == (3, 7, False)
    order = plan.open()
    for x, y in made():
        rows = order.take(plan.batch_size)[:, 0]
        np.testing.assert_array_equal(take_rows(plan.arrays[0], rows), x)
        np.testing.assert_array_equal(take_rows(plan.arrays[1], rows), y)
    assert Dataset.range(10).batch(2).as_rows() is None
    assert Dataset.from_tensor_slices(ROWS).map(lambda x: x).batch(2).as_rows() is None


def test_options_are_kept_and_merged():
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    options.experimental_deterministic = False
    options.threading.private_threadpool_size = 4
    dataset = Dataset.range(4).with_options(options).batch(2)
    found = dataset.options()
    assert found.experimental_distribute.auto_shard_policy is AutoShardPolicy.DATA
    assert found.experimental_deterministic is False
    again = dataset.with_options(Options()).options()
    assert again.experimental_distribute.auto_shard_policy is AutoShardPolicy.DATA
    assert Dataset.range(1).options().experimental_distribute.auto_shard_policy == 0


def test_small_words():
    assert Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x) == 10
    assert Dataset.range(5).apply(lambda d: d.take(2)).cardinality() == 2
    assert Dataset.from_tensors(3).get_single_element() == 3
    with pytest.raises(DataError, match="take"):
        Dataset.range(2).get_single_element()
    assert numbers(Dataset.zip({"a": Dataset.range(1)}).map(lambda e: e["a"])) == [0]
    assert "range" in repr(Dataset.range(3))
    assert numbers(Dataset.range(3).repeat().take(5)) == [0, 1, 2, 0, 1]
    assert numbers(Dataset.range(0).repeat()) == []
    assert numbers(Dataset.range(0).map(lambda x: x).batch(3)) == []


def test_a_generator_is_checked_against_its_signature():
    def rows():
        yield [1.0, 2.0], 1
        yield [1.0, 2.0, 3.0], 2

    loose = (TensorSpec((None,), np.float32), TensorSpec((), np.int32))
    dataset = Dataset.from_generator(rows, output_signature=loose)
    assert [x.shape for x, _ in dataset] == [(2,), (3,)]
    assert dataset.element_spec == loose
    tight = (TensorSpec((2,), np.float32), TensorSpec((), np.int32))
    with pytest.raises(DataError, match="element 1: shape"):
        list(Dataset.from_generator(rows, output_signature=tight))
    with pytest.raises(DataError, match="output_signature"):
        list(Dataset.from_generator(rows, output_signature=tight[0]))
    with pytest.raises(DataError, match="where int32 was declared"):
        list(Dataset.from_generator(lambda: iter([1.5]), output_types="int32"))
    with pytest.raises(DataError, match="not what it returns"):
        Dataset.from_generator(rows())


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (lambda d: d.batch(0), "batch_size=1 or more"),
        (lambda d: d.batch(-3), "batch_size=1 or more"),
        (lambda d: d.batch(2.5), "batch_size=1 or more"),
        (lambda d: d.shuffle(0), "buffer_size=1 or more"),
        (lambda d: d.shuffle(None), "buffer_size=1 or more"),
        (lambda d: d.shard(2, 2), "index from 0 to 1"),
        (lambda d: d.map(lambda x: x, num_parallel_calls=0), "num_parallel_calls=1"),
        (lambda d: Dataset.from_tensor_slices((ROWS, ROWS[:3])), "first dimensions are equal"),
        (lambda d: Dataset.from_tensor_slices(3), "from_tensors"),
        (lambda d: Dataset.from_tensor_slices([[1], [1, 2]]), "one shape"),
        (lambda d: Dataset.zip((d, 3)), "Dataset first"),
        (lambda d: d.concatenate(Dataset.zip((d, d))), "nesting"),
        (lambda d: list(d.flat_map(lambda x: x)), "use map"),
        (lambda d: list(d.batch(4).filter(lambda x: x > 3)), "single bool"),
        (lambda d: list(d.unbatch()), "unbatch what batch made"),
        (lambda d: list(d.batch(4).take_while(lambda x: x > 3)), "single bool"),
        (lambda d: list(d.scan(0, lambda state, x: state)), "(new_state, result)"),
        (lambda d: list(d.scan(0, lambda state, x: (x, x))), "cast to its first dtype"),
        (lambda d: list(d.scan((0,), lambda state, x: (0, x))), "cast to its first dtype"),
        (lambda d: Dataset.sample_from_datasets([d, d], [1.0]), "give 2 numbers"),
        (lambda d: Dataset.sample_from_datasets([d, d], [1.0, -1.0]), "of 0 or more"),
        (lambda d: Dataset.sample_from_datasets([d, d.batch(2).zip(d, d)]), "same nesting"),
        (lambda d: Dataset.choose_from_datasets([], d), "at least one"),
        (lambda d: list(Dataset.choose_from_datasets([d], d)), "from 0 to 0"),
        (lambda d: d.bucket_by_sequence_length(int, [3], [2]), "for each bucket"),
        (lambda d: d.bucket_by_sequence_length(int, [3, 3], [2, 2, 2]), "for each bucket"),
        (lambda d: d.bucket_by_sequence_length(int, [3], [2, 0]), "bucket_batch_sizes=1"),
        (lambda d: list(d.bucket_by_sequence_length(float, [3], [2, 2])), "one whole number"),
        (lambda d: list(to_the_end(d, None)), "padded_shapes=[None]"),
        (lambda d: list(to_the_end(d, [None])), "larger last boundary"),
        (lambda d: list(d.map(lambda x: np.ones(int(x))).batch(4)), "padded_batch"),
        (lambda d: list(d.map(lambda x: np.ones(int(x))).padded_batch(4, [2])), "padded_shapes"),
    ],
)
def test_mistakes_are_explained(wrong, fix):
    with pytest.raises(DataError, match=re.escape(fix)) as caught:
        wrong(Dataset.range(10))
    assert len(str(caught.value).splitlines()) == 3


def to_the_end(dataset, shapes):
    return dataset.map(lambda x: np.ones(int(x))).bucket_by_sequence_length(
        len, [3], [2, 2], shapes, pad_to_bucket_boundary=True
    )


def test_datasets_are_drawn_by_their_weights():
    ones, twos = Dataset.from_tensors(1).repeat(), Dataset.from_tensors(2).repeat()
    drawn = numbers(Dataset.sample_from_datasets([ones, twos], [3, 1], seed=5).take(4000))
    assert abs(drawn.count(1) - 3000) < 110  # four standard deviations
    turns = Dataset.from_tensor_slices([[1.0, 0.0], [0.0, 1.0]]).repeat(3)
    assert numbers(Dataset.sample_from_datasets([ones, twos], turns)) == [1, 2, 1, 2, 1, 2]


def test_a_sample_is_drawn_anew_only_when_asked():
    def made(again):
        parts = [Dataset.range(20), Dataset.range(20, 40)]
        return Dataset.sample_from_datasets(parts, seed=3, rerandomize_each_iteration=again)

    same, other = made(None), made(True)
    assert numbers(same) == numbers(same)
    assert numbers(other) != numbers(other)
    for order in (numbers(same), numbers(other)):
        assert [x for x in order if x < 20] == list(range(20))
        assert [x for x in order if x >= 20] == list(range(20, 40))


def test_a_scan_sees_the_state_it_left():
    def running(state, element):
        x, y = element
        return {"sum": state["sum"] + x}, (state["sum"], y)

    dataset = Dataset.zip((Dataset.range(4), Dataset.range(4))).scan({"sum": np.int64(10)}, running)
    assert [(int(a), int(b)) for a, b in dataset] == [(10, 0), (10, 1), (11, 2), (13, 3)]
    assert next((int(a), int(b)) for a, b in dataset) == (10, 0), "each pass begins anew"
    assert dataset.element_spec == (TensorSpec((), np.int64), TensorSpec((), np.int64))
    batches = Dataset.range(5).batch(2).scan(0, lambda state, x: (state, x))
    assert batches.element_spec.shape == (None,)


def test_the_names_are_there():
    assert all(hasattr(names, name) for name in names.__all__)
