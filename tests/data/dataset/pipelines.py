"""Random pipelines for property tests: a recipe that hypothesis can shrink, and its dataset."""

from __future__ import annotations

import jax.numpy as jnp
import keras
import numpy as np
from hypothesis import strategies as st

from manyhands.data.dataset import Dataset, row_key

NUM_ROWS = 23


def double(*parts):
    """Traceable, exact."""
    return tuple(part * 2 for part in parts)


def noisy(*parts):
    """Traceable and random: exact on whole numbers."""
    noise = keras.random.randint((), 0, 1000)
    return tuple(part + jnp.asarray(noise, part.dtype) for part in parts)


def keyed(*parts):
    """Random by our own key."""
    import jax

    drawn = jax.random.randint(row_key(), (), 0, 1000)
    return tuple(part + jnp.asarray(drawn, part.dtype) for part in parts)


def opaque(*parts):
    """Needs real values."""
    return tuple(np.asarray(part) + int(np.asarray(part).sum()) % 7 for part in parts)


def is_chosen(*parts):
    return np.asarray(parts[0]).sum() % 3 != 0


def is_odd(*parts):
    """Traceable."""
    return jnp.sum(parts[0]) % 2 == 1


FUNCTIONS = {"double": double, "noisy": noisy, "keyed": keyed, "opaque": opaque}

small = st.integers(1, 9)
row_steps = st.one_of(
    st.tuples(st.just("shuffle"), st.sampled_from([1, 3, 10, 100]), st.integers(0, 3)),
    st.tuples(st.just("frozen"), st.sampled_from([1, 3, 10, 100]), st.integers(0, 3)),
    st.tuples(st.just("repeat"), st.integers(0, 3)),
    st.tuples(st.just("take"), st.integers(-1, 30)),
    st.tuples(st.just("skip"), st.integers(0, 9)),
    st.tuples(st.just("shard"), st.integers(1, 4)),
    st.tuples(st.just("map"), st.sampled_from(sorted(FUNCTIONS)), st.sampled_from([None, -1, 3])),
    st.tuples(st.just("cache")),
    st.tuples(st.just("prefetch"), st.integers(-1, 3)),
    st.tuples(st.just("filter"), st.booleans()),
    st.tuples(st.just("concatenate")),
    st.tuples(st.just("take_while")),
    st.tuples(st.just("scan")),
    st.tuples(st.just("choose"), st.booleans()),
    st.tuples(st.just("sample"), st.booleans(), st.integers(0, 3)),
    st.tuples(st.just("flat_map")),
    st.tuples(st.just("interleave"), st.integers(1, 3), st.integers(1, 2)),
    st.tuples(st.just("zip")),
)
batch_steps = st.tuples(st.just("batch"), small, st.booleans())
sources = st.sampled_from(["slices", "range", "pair", "generator"])


@st.composite
def recipes(draw):
    steps = draw(st.lists(row_steps, max_size=5))
    if draw(st.booleans()):
        steps.append(draw(batch_steps))
        steps += draw(st.lists(row_steps, max_size=2).filter(_keeps_batches))
        if draw(st.booleans()):
            steps.append(("unbatch",))
    return draw(sources), tuple(steps)


def _keeps_batches(steps) -> bool:
    return not any(step[0] in ("flat_map", "interleave", "zip", "map") for step in steps)


def build(recipe) -> Dataset:
    source, steps = recipe
    dataset = _source(source)
    for step in steps:
        dataset = _add(dataset, *step)
    return dataset


def _source(source: str) -> Dataset:
    rows = np.arange(NUM_ROWS * 2, dtype=np.int32).reshape(NUM_ROWS, 2)
    if source == "slices":
        return Dataset.from_tensor_slices((rows,))
    if source == "pair":
        return Dataset.from_tensor_slices((rows, np.arange(NUM_ROWS, dtype=np.int64)))
    if source == "range":
        return Dataset.range(NUM_ROWS).map(_in_tuple)
    return Dataset.from_generator(lambda: ((row,) for row in rows))


def _in_tuple(x):
    return (x,)


def _add(dataset: Dataset, name: str, *args) -> Dataset:
    if name == "shuffle":
        return dataset.shuffle(args[0], seed=args[1])
    if name == "frozen":
        return dataset.shuffle(args[0], seed=args[1], reshuffle_each_iteration=False)
    if name == "shard":
        return dataset.shard(args[0], args[0] - 1)
    if name == "map":
        mapped = dataset.map(FUNCTIONS[args[0]], num_parallel_calls=args[1])
        mapped.stage.draws.seed = 5  # random functions: the same in both datasets
        return mapped
    if name == "filter":
        return dataset.filter(is_chosen if args[0] else is_odd)
    if name == "take_while":
        return dataset.take_while(lambda *parts: np.asarray(parts[0]).sum() % 29 != 0)
    if name == "scan":
        return dataset.scan(np.int64(1), _counted)
    if name == "choose":
        numbers = Dataset.range(7).map(lambda x: x % 2).repeat()
        return Dataset.choose_from_datasets([dataset, dataset.skip(2)], numbers, args[0])
    if name == "sample":
        return Dataset.sample_from_datasets(
            [dataset, dataset.take(5), dataset], [0.5, 0.2, 0.3], args[1], args[0]
        )
    if name == "concatenate":
        return dataset.concatenate(dataset.take(3))
    if name in ("flat_map", "interleave"):
        inner = lambda *parts: Dataset.from_tensors(parts).repeat(2)  # noqa: E731
        return dataset.flat_map(inner) if name == "flat_map" else dataset.interleave(inner, *args)
    if name == "zip":
        return Dataset.zip((dataset, Dataset.range(100))).map(_join)
    return getattr(dataset, name)(*args)


def _counted(state, parts):
    first = np.asarray(parts[0])
    return state + np.int64(1), (first + first.dtype.type(int(state) % 5), *parts[1:])


def _join(parts, number):
    return (*parts, number)
