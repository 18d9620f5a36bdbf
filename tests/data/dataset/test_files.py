"""Files: records, lines, pieces, examples; damaged and missing ones are named."""

from __future__ import annotations

import gzip
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.data.dataset import (
    BytesList,
    DamagedFileError,
    Dataset,
    Example,
    Feature,
    Features,
    FixedLenFeature,
    FixedLengthRecordDataset,
    FloatList,
    Int64List,
    MissingFileError,
    TextLineDataset,
    TFRecordDataset,
    TFRecordWriter,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from manyhands.data.dataset.crc32c import crc32c
from manyhands.errors import DataError

# Written by tf.io.TFRecordWriter (TensorFlow 2.21): records b"abc" and b"".
TENSORFLOWS = bytes.fromhex(
    "0300000000000000b099490e6162636e57f121000000000000000029039807d8ea82a2"
)
# tf.train.Example of {"a": int64 [1, -2]}, serialised by TensorFlow 2.21.
EXAMPLE = bytes.fromhex("0a160a140a0161120f1a0d0a0b01feffffffffffffffff01")


def write(path, records, compression=None):
    with TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return path


def test_checksums_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"\0" * 32) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"") == 0


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=2000))
def test_checksums_against_the_definition(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    assert crc32c(data) == state ^ 0xFFFFFFFF


def test_what_tensorflow_wrote(tmp_path):
    (tmp_path / "a").write_bytes(TENSORFLOWS)
    assert list(TFRecordDataset(str(tmp_path / "a"))) == [b"abc", b""]
    assert write(tmp_path / "b", [b"abc", b""]).read_bytes() == TENSORFLOWS


@pytest.mark.parametrize("compression", [None, "", "GZIP", "ZLIB"])
def test_records_come_back(tmp_path, compression):
    records = [b"", b"x", bytes(range(256)) * 300]
    paths = [write(tmp_path / name, records, compression) for name in ("a", "b")]
    dataset = TFRecordDataset(paths, compression)
    assert list(dataset) == records * 2
    assert list(TFRecordDataset(Dataset.from_tensor_slices([str(p) for p in paths]), compression))
    assert dataset.cardinality() == -2
    in_turns = TFRecordDataset(paths, compression, num_parallel_reads=2)
    assert list(in_turns) == [record for record in records for _ in range(2)]
    assert type(dataset.take(1)) is Dataset


@pytest.mark.parametrize("cut", [1, 3, 5, 13, 18])
def test_a_file_cut_short_is_named_with_the_record(tmp_path, cut):
    path = write(tmp_path / "cut", [b"first", b"second"])
    path.write_bytes(path.read_bytes()[:-cut])
    rows = iter(TFRecordDataset(path))
    assert next(rows) == b"first"
    with pytest.raises(DamagedFileError, match="write the file again") as caught:
        next(rows)
    assert f"{path}, record 1" in str(caught.value)


@pytest.mark.parametrize("place", [0, 9, 13, 18])
def test_a_damaged_record_is_named(tmp_path, place):
    path = write(tmp_path / "bad", [b"first"])
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match=r"record 0: .*checksum"):
        list(TFRecordDataset(path))


def test_a_compressed_file_cut_short(tmp_path):
    path = write(tmp_path / "cut.gz", [b"first" * 1000], "GZIP")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedFileError, match="record 0"):
        list(TFRecordDataset(path, "GZIP"))
    path.write_bytes(zlib.compress(b"x" * 1000)[:-9])
    with pytest.raises(DamagedFileError, match="cannot be decompressed"):
        list(TFRecordDataset(path, "ZLIB"))


def test_a_missing_file_is_named(tmp_path):
    for dataset in (TFRecordDataset, TextLineDataset):
        for kind in (None, "GZIP"):
            with pytest.raises(MissingFileError, match="check the path") as caught:
                list(dataset(str(tmp_path / "nothing"), kind))
            assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(MissingFileError, match="check the pattern"):
        Dataset.list_files(str(tmp_path / "*.csv"))
    with pytest.raises(DataError, match="GZIP"):
        TFRecordDataset("a", "LZ4")


def test_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n\nlast")
    with gzip.open(tmp_path / "b.gz", "wb") as file:
        file.write(b"1,2\n3,4\n")
    assert list(TextLineDataset(tmp_path / "a.txt")) == [b"one", b"two", b"", b"last"]
    lines = TextLineDataset([str(tmp_path / "b.gz")], "GZIP").skip(1)
    parsed = lines.map(lambda line: np.array(line.split(b","), np.int32))
    np.testing.assert_array_equal(next(iter(parsed)), [3, 4])
    assert "text" in str(parsed.explain())


def test_pieces(tmp_path):
    (tmp_path / "a").write_bytes(b"HHaabbccF")
    dataset = FixedLengthRecordDataset(tmp_path / "a", 2, header_bytes=2, footer_bytes=1)
    assert list(dataset) == [b"aa", b"bb", b"cc"]
    with pytest.raises(DamagedFileError, match="check record_bytes"):
        list(FixedLengthRecordDataset(tmp_path / "a", 4))


def test_files_read_ahead_on_threads_keep_their_order_and_their_errors(tmp_path):
    paths = [write(tmp_path / str(n), [f"{n}:{k}".encode() for k in range(200)]) for n in range(3)]
    names = Dataset.from_tensor_slices([str(path) for path in paths])
    plain = list(names.interleave(TFRecordDataset, cycle_length=2, block_length=3))
    ahead = names.interleave(TFRecordDataset, 2, 3, num_parallel_calls=2)
    assert list(ahead) == plain
    assert "on threads" in str(ahead.explain())
    paths[0].write_bytes(paths[0].read_bytes()[:-3])
    found = []
    with pytest.raises(DamagedFileError, match="record 199"):
        found.extend(TFRecordDataset(paths[:1]).prefetch(2))
    rows = iter(TFRecordDataset(paths[:1]).prefetch(2))
    assert [next(rows) for _ in range(199)][-1] == b"0:198"
    with pytest.raises(DamagedFileError, match="record 199"):
        next(rows)


def test_names_of_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text(name)
    plain = Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    names = [str(tmp_path / name).encode() for name in ("a.txt", "b.txt")]
    assert list(plain) == names
    assert sorted(Dataset.list_files(str(tmp_path / "*.txt"), seed=1)) == names
    read = plain.interleave(TextLineDataset, cycle_length=2)
    assert list(read) == [b"a.txt", b"b.txt"]


def example(**lists):
    return Example(features=Features(feature=lists)).SerializeToString()


def test_examples_are_tensorflows_bytes():
    assert example(a=Feature(int64_list=Int64List(value=[1, -2]))) == EXAMPLE
    found = Example.FromString(EXAMPLE).features.feature["a"]
    assert found.int64_list.value == [1, -2]
    assert found.WhichOneof("kind") == "int64_list"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.floats(width=32, allow_nan=False)),
    st.lists(st.binary()),
    st.text(),
)
def test_examples_come_back(integers, floats, texts, name):
    record = example(
        **{
            name: Feature(int64_list=Int64List(value=integers)),
            name + "f": Feature(float_list=FloatList(value=floats)),
            name + "b": Feature(bytes_list=BytesList(value=texts)),
        }
    )
    features = Example.FromString(record).features.feature
    assert features[name].int64_list.value == integers
    assert features[name + "f"].float_list.value == floats
    assert features[name + "b"].bytes_list.value == texts


RECORD = example(
    image=Feature(bytes_list=BytesList(value=[bytes(range(4))])),
    size=Feature(int64_list=Int64List(value=[2, 2])),
    tags=Feature(float_list=FloatList(value=[1.5, 2.5, 3.5])),
)
WANTED = {
    "image": FixedLenFeature([], "string"),
    "size": FixedLenFeature((2,), np.int64),
    "tags": VarLenFeature(np.float32),
    "label": FixedLenFeature([], np.int64, default_value=-1),
}


def test_parsing_a_record_and_a_batch_of_them():
    one = parse_single_example(RECORD, WANTED)
    assert one["image"] == bytes(range(4))
    assert one["label"] == -1
    np.testing.assert_array_equal(one["size"], [2, 2])
    np.testing.assert_array_equal(one["tags"].values, np.float32([1.5, 2.5, 3.5]))
    many = parse_example([RECORD, RECORD], WANTED)
    assert many["size"].shape == (2, 2)
    np.testing.assert_array_equal(many["tags"].to_dense(), np.float32([[1.5, 2.5, 3.5]] * 2))


def test_a_pipeline_from_records(tmp_path):
    path = write(tmp_path / "r", [RECORD] * 10)

    def parse(record):
        found = parse_single_example(record, WANTED)
        return np.frombuffer(found["image"], np.uint8), found["tags"], found["label"]

    dataset = TFRecordDataset(path).map(parse, num_parallel_calls=2)
    dataset = dataset.map(lambda x, t, y: (x / 255.0, t, y)).shuffle(10, seed=1).batch(4)
    x, tags, y = next(iter(dataset))
    assert (x.shape, x.dtype, tags.shape, y.dtype) == ((4, 4), np.float32, (4, 3), np.int64)
    assert [len(batch[0]) for batch in dataset] == [4, 4, 2]


@pytest.mark.parametrize(
    ("features", "fix"),
    [
        ({"size": FixedLenFeature([3], np.int64)}, "2 values where shape"),
        ({"size": FixedLenFeature([2], np.float32)}, "another kind"),
        ({"nothing": FixedLenFeature([], np.int64)}, "default_value"),
        ({"size": "int64"}, "str"),
    ],
)
def test_what_is_not_in_the_record_is_named(features, fix):
    with pytest.raises((DataError, AttributeError), match=fix):
        parse_single_example(RECORD, features)


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\x05ab", b"\x0b\x01", b"hello world"])
def test_what_is_no_example_is_said(data):
    with pytest.raises(DataError, match="parse the records with what wrote them"):
        parse_single_example(data, WANTED)
