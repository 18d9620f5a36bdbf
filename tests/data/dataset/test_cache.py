"""Cache: read once, in memory or in a file that appears whole or not at all."""

from __future__ import annotations

import jax.numpy as jnp
import keras
import numpy as np
import pytest

from manyhands.data.dataset import DamagedFileError, Dataset
from manyhands.errors import DataError

ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


def counted(num_rows: int):
    calls = []

    def rows():
        calls.append(1)
        for number in range(num_rows):
            yield {"n": np.int64(number), "t": (b"x" * number, ROWS[number % 6])}

    return rows, calls


@pytest.mark.parametrize("in_file", [False, True])
def test_the_source_is_read_once(tmp_path, in_file):
    rows, calls = counted(5)
    dataset = Dataset.from_generator(rows).cache(str(tmp_path / "c") if in_file else "")
    first, second = list(dataset), list(dataset)
    assert len(calls) == 1
    for one, other in zip(first, second, strict=True):
        assert one["n"] == other["n"]
        assert one["n"].dtype == other["n"].dtype == np.int64
        assert one["t"][0] == other["t"][0]
        np.testing.assert_array_equal(one["t"][1], other["t"][1])
    if in_file:
        again, new_calls = counted(5)
        assert len(list(Dataset.from_generator(again).cache(str(tmp_path / "c")))) == 5
        assert not new_calls
        assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("in_file", [False, True])
def test_a_pass_broken_off_keeps_nothing(tmp_path, in_file):
    rows, calls = counted(5)
    dataset = Dataset.from_generator(rows).cache(str(tmp_path / "c") if in_file else "")
    going = iter(dataset)
    next(going)
    going.close()
    assert list(tmp_path.iterdir()) == []
    assert len(list(dataset)) == 5
    assert len(calls) == 2


def test_random_rows_are_kept_as_they_were_first():
    def noise(x):
        return x + keras.random.normal((2,))

    dataset = Dataset.from_tensor_slices(ROWS).map(noise).cache()
    some = np.stack(list(dataset.take(2)))
    first, second = np.stack(list(dataset)), np.stack(list(dataset))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first[:2], some)
    assert "rows" not in str(dataset.explain())


def test_only_as_much_is_computed_as_is_asked_for():
    rows = np.zeros((10_000, 4), np.float32)
    dataset = Dataset.from_tensor_slices(rows).map(lambda x: jnp.sin(x)).cache()
    next(iter(dataset.batch(8)))
    assert dataset.stage._table._num_ready == 1024


def test_no_rows(tmp_path):
    dataset = Dataset.range(0).cache(str(tmp_path / "deep" / "c"))
    assert list(dataset) == list(dataset) == []


def test_other_dtypes_in_a_file(tmp_path):
    import ml_dtypes

    rows = {
        "a": np.arange(4).astype(ml_dtypes.bfloat16),
        "b": np.array([["x", "yy"]] * 4),
        "c": np.arange(8, dtype=np.uint8).reshape(4, 2, 1) > 3,
    }
    dataset = Dataset.from_tensor_slices(rows).cache(str(tmp_path / "c"))
    list(dataset)
    again = list(dataset)
    assert again[1]["a"].dtype == ml_dtypes.bfloat16
    assert again[1]["b"].tolist() == [b"x", b"yy"]
    assert again[3]["c"].tolist() == [[True], [True]]


def test_a_file_that_is_no_cache_is_named(tmp_path):
    from manyhands.data.dataset import TFRecordWriter

    with TFRecordWriter(tmp_path / "c") as writer:
        writer.write(b"something else")
    with pytest.raises(DataError, match="delete the file"):
        list(Dataset.range(3).cache(str(tmp_path / "c")))
    (tmp_path / "c").write_bytes(b"123")
    with pytest.raises(DamagedFileError, match="record 0"):
        list(Dataset.range(3).cache(str(tmp_path / "c")))


def test_looking_does_not_change_what_is_kept():
    def made():
        return Dataset.range(20).shuffle(20, seed=1).cache()

    plain, looked = made(), made()
    mapped = looked.map(lambda x: x * 2)
    str(mapped.explain())
    shuffled = looked.stage.parent  # somebody else reads the shuffle in between
    shuffled.draws.iteration += 1
    wanted = [int(x) * 2 for x in plain._by_rows()]
    assert [int(x) for x in mapped] == wanted
    assert [int(x) for x in mapped] == wanted
