"""The same pipelines on real tf.data, where TensorFlow is installed."""

from __future__ import annotations

import os

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow", exc_type=ImportError)

from manyhands.data import dataset as ours  # noqa: E402
from manyhands.data.dataset.structure import leaves  # noqa: E402

ROWS = np.arange(26, dtype=np.float32).reshape(13, 2)
PIPELINES = {
    "batch": lambda d: d.range(10).batch(4),
    "drop": lambda d: d.range(10).batch(4, drop_remainder=True),
    "slices": lambda d: d.from_tensor_slices({"a": ROWS, "b": (np.arange(13), [1.5] * 13)}).batch(
        5
    ),
    "python numbers": lambda d: d.from_tensor_slices([1, 2, 3]),
    "python floats": lambda d: d.from_tensor_slices([1.0, 2.0, 3.0]),
    "text": lambda d: d.from_tensor_slices(["a", "bc", ""]).batch(2),
    "tensors": lambda d: d.from_tensors((ROWS, 3)),
    "take skip": lambda d: d.range(20).skip(3).take(9),
    "take all": lambda d: d.range(5).take(-1),
    "skip all": lambda d: d.range(5).skip(-1),
    "shard": lambda d: d.range(20).shard(3, 1),
    "repeat": lambda d: d.range(3).repeat(3).batch(4),
    "enumerate": lambda d: d.from_tensor_slices(ROWS).enumerate(5).batch(4),
    "zip": lambda d: d.zip((d.range(5), d.range(10, 13))),
    "zip nested": lambda d: d.zip(({"x": d.range(5)}, (d.range(9), d.range(3)))),
    "concatenate": lambda d: d.range(3).concatenate(d.range(7, 9)).batch(2),
    "padded": lambda d: d.range(1, 6).map(_ones).padded_batch(2),
    "padded shapes": lambda d: d.range(1, 6).map(_ones).padded_batch(2, [7], np.int64(-1)),
    "padded drop": lambda d: d.range(1, 6).map(_ones).padded_batch(2, drop_remainder=True),
    "unbatch": lambda d: d.from_tensor_slices(ROWS).batch(4).unbatch(),
    "rebatch": lambda d: d.range(13).batch(4).unbatch().batch(5),
    "batch of batches": lambda d: d.range(12).batch(2).batch(2),
    "interleave": lambda d: d.range(1, 6).interleave(_inner(d), cycle_length=2, block_length=4),
    "interleave 3": lambda d: d.range(7).interleave(_inner(d), cycle_length=3, block_length=1),
    "interleave 3, 2": lambda d: d.range(7).interleave(_inner(d), cycle_length=3, block_length=2),
    "interleave wide": lambda d: d.range(3).interleave(_inner(d), cycle_length=8),
    "flat_map": lambda d: d.range(5).flat_map(_inner(d)),
    "scan": lambda d: d.range(5).scan(np.int64(0), lambda total, x: (total + x, total * x)),
    "scan pairs": lambda d: d.zip((d.range(3), d.range(3))).scan(
        (np.int64(0), 1), lambda s, e: ((s[0] + e[0], s[1] * 2), {"a": s[1], "b": e[1]})
    ),
    "take_while": lambda d: d.range(9).map(lambda x: x % 5).take_while(lambda x: x < 3).repeat(2),
    "choose": lambda d: d.choose_from_datasets(_three(d), d.range(3).repeat(3)),
    "choose on": lambda d: d.choose_from_datasets(_three(d), d.range(3).repeat(3), False),
    "choose shapes": lambda d: d.choose_from_datasets(
        [d.from_tensors([1, 2]), d.from_tensors([1, 2, 3])], d.range(2)
    ),
    "sample one": lambda d: d.sample_from_datasets(_three(d), [0.0, 2.0, 0.0]),
    "sample none": lambda d: d.sample_from_datasets(_three(d), [0.0, 0.0, 0.0]),
    "bucket padded": lambda d: _rows(d).bucket_by_sequence_length(_size, [3, 6], [3, 2, 2]),
    "bucket padded drop": lambda d: _rows(d).bucket_by_sequence_length(
        _size, [3, 6], [4, 2, 5], drop_remainder=True
    ),
    "bucket padded shapes": lambda d: _rows(d).bucket_by_sequence_length(
        _size, [3, 6], [3, 9, 9], padded_shapes=[11], padding_values=np.int64(-1)
    ),
    "bucket padded to the end": lambda d: _rows(d).bucket_by_sequence_length(
        _size, [3, 12], [3, 9, 9], padded_shapes=[None], pad_to_bucket_boundary=True
    ),
    "bucket": lambda d: d.range(9).bucket_by_sequence_length(
        lambda x: _int32(x % 4), [1, 3], [2, 3, 9], no_padding=True
    ),
    "filter": lambda d: d.range(20).filter(lambda x: x % 3 == 1).batch(2),
    "map pair": lambda d: d.from_tensor_slices((ROWS, ROWS)).map(lambda a, b: (a + b, b)).batch(5),
    "map dict": lambda d: d.from_tensor_slices({"a": ROWS}).map(lambda e: {"z": e["a"] * 2}),
    "map to list": lambda d: d.range(3).map(lambda x: [x, x + 1]),
    "map after batch": lambda d: d.from_tensor_slices(ROWS).batch(5).map(lambda b: b * 2),
    "window": lambda d: d.range(7).window(3).flat_map(lambda w: w.batch(3)),
    "window shift": lambda d: d.range(9).window(3, 2, 2, True).flat_map(lambda w: w.batch(3)),
    "window part": lambda d: d.range(9).window(4, 3, 1).flat_map(lambda w: w.batch(4)),
    "window gap": lambda d: d.range(9).window(2, 4, 1).flat_map(lambda w: w.batch(4)),
    "range step": lambda d: d.range(10, 0, -3),
    "empty": lambda d: d.range(0).batch(3),
    "generator": lambda d: d.from_generator(_numbers, output_types=np.int32, args=(4,)),
}


def _ones(x):
    """Rows of different lengths, in either library."""
    if isinstance(x, np.generic):
        return np.full((int(x),), x)
    return tf.fill([x], x)


def _rows(d):
    return d.from_tensor_slices(np.array([7, 3, 1, 4, 0, 5, 9, 2, 6])).map(_ones)


def _size(row):
    return np.int32(len(row)) if isinstance(row, np.ndarray) else tf.shape(row)[0]


def _int32(x):
    return np.int32(x) if isinstance(x, np.generic) else tf.cast(x, tf.int32)


def _three(d):
    return [d.from_tensors(np.int64(k)).repeat(times) for k, times in ((0, 3), (1, 2), (2, 1))]


def _inner(d):
    return lambda x: d.from_tensors(x).repeat(
        3 + int(x) % 2 if isinstance(x, np.generic) else 3 + x % 2
    )


def _numbers(stop):
    yield from range(stop)


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_elements_specs_and_lengths(name):
    found = PIPELINES[name](ours.Dataset)
    wanted = PIPELINES[name](tf.data.Dataset)
    ours_all, theirs_all = list(found.as_numpy_iterator()), list(wanted.as_numpy_iterator())
    assert len(ours_all) == len(theirs_all)
    for one, other in zip(ours_all, theirs_all, strict=True):
        for a, b in zip(leaves(one), tf.nest.flatten(other), strict=True):
            np.testing.assert_array_equal(a, b)
            if not isinstance(b, bytes):
                assert a.dtype == b.dtype
                assert np.shape(a) == np.shape(b)
    if name not in ("padded", "padded shapes", "padded drop", "flat_map"):
        assert found.cardinality() == int(wanted.cardinality()) or found.cardinality() == -2
    if theirs_all and "padded" not in name and "window" not in name:
        pairs = zip(leaves(found.element_spec), tf.nest.flatten(wanted.element_spec), strict=True)
        for a, b in pairs:
            assert b.shape.rank is None or a.shape == tuple(b.shape)


def test_records_written_by_either_are_read_by_the_other(tmp_path):
    def example(kind):
        return kind.Example(
            features=kind.Features(
                feature={
                    "i": kind.Feature(int64_list=kind.Int64List(value=[1, -2, 2**40])),
                    "f": kind.Feature(float_list=kind.FloatList(value=[0.5, -1e9])),
                    "b": kind.Feature(bytes_list=kind.BytesList(value=[b"x", b"\0" * 600])),
                    "none": kind.Feature(),
                }
            )
        )

    mine, theirs = example(ours).SerializeToString(), example(tf.train).SerializeToString()
    assert tf.train.Example.FromString(mine) == example(tf.train)
    assert ours.Example.FromString(theirs).features.feature["i"].values == [1, -2, 2**40]
    for options in (None, "GZIP", "ZLIB"):
        with ours.TFRecordWriter(tmp_path / "a", options) as writer:
            writer.write(mine)
            writer.write(b"")
        with tf.io.TFRecordWriter(str(tmp_path / "b"), options) as writer:
            writer.write(theirs)
            writer.write(b"\1" * 70000)
        read = tf.data.TFRecordDataset(str(tmp_path / "a"), compression_type=options or "")
        assert list(read.as_numpy_iterator()) == [mine, b""]
        read = ours.TFRecordDataset(tmp_path / "b", compression_type=options)
        assert list(read) == [theirs, b"\1" * 70000]
    wanted = {
        "i": (tf.io.FixedLenFeature([3], tf.int64), ours.FixedLenFeature([3], "int64")),
        "f": (tf.io.VarLenFeature(tf.float32), ours.VarLenFeature("float32")),
        "m": (tf.io.FixedLenFeature([], tf.int64, 7), ours.FixedLenFeature([], "int64", 7)),
    }
    for parse in ("parse_single_example", "parse_example"):
        record = theirs if parse == "parse_single_example" else [theirs, mine]
        one = getattr(tf.io, parse)(record, {name: pair[0] for name, pair in wanted.items()})
        two = getattr(ours, parse)(record, {name: pair[1] for name, pair in wanted.items()})
        np.testing.assert_array_equal(one["i"], two["i"])
        np.testing.assert_array_equal(one["m"], two["m"])
        for part in ("indices", "values", "dense_shape"):
            np.testing.assert_array_equal(getattr(one["f"], part), getattr(two["f"], part))
