"""States come back as they were, through JSON and the bytes beside it, however large they are."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict, deque

import keras
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyhands.checkpoint import Checkpoint, NotTrackableError, state_json
from manyhands.checkpoint.fit_state import Others
from manyhands.checkpoint.plain_data import is_plain, same
from manyhands.checkpoint.state_json import decode, encode

NAMES = [*"?bBhHiIlLefdgFDG", "<M8[ns]", "<m8[D]", "S3", "<U5", "V3", ">f4", ">i8"]
SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn")
RECORD = np.dtype([("a", ">f4", (2,)), ("b", [("c", "u1"), ("d", "<U3")])])
DTYPES = [
    *map(np.dtype, NAMES),
    *(np.dtype(getattr(ml_dtypes, name)) for name in SMALL if hasattr(ml_dtypes, name)),
    RECORD,
]
SHAPES = [(), (0,), (3,), (2, 0), (2, 3), (40,), (1, 1, 1)]


def filled(dtype, shape, data):
    """Give an array of this dtype with arbitrary numbers in it."""
    count = math.prod(shape)
    if dtype.kind in "USV" and (dtype.names or dtype.type is np.void or dtype.kind != "V"):
        return np.frombuffer(b"A\0\0\0" * (count * dtype.itemsize), dtype, count).reshape(shape)
    numbers = np.resize(np.array([data, 1, 0, 3, -1, 7]), count).reshape(shape)
    return np.abs(numbers).astype(dtype) if dtype.kind in "uV?" else numbers.astype(dtype)


arrays = st.builds(filled, st.sampled_from(DTYPES), st.sampled_from(SHAPES), st.integers(-4, 5))
scalars = arrays.filter(lambda array: array.size > 0).map(lambda array: array.reshape(-1)[0])
numbers = st.integers() | st.floats() | st.just(-0.0) | st.booleans() | st.integers(-(2**70), 2**70)
leaves = st.none() | numbers | st.text() | st.binary() | arrays | scalars
keys = st.text() | st.integers() | st.booleans() | st.tuples(st.integers(), st.text()) | st.none()
one_kind = st.one_of(
    *(st.lists(kind, min_size=30, max_size=60) for kind in (st.integers(), st.floats(), scalars)),
    *(st.lists(kind, min_size=30, max_size=60) for kind in (st.booleans(), st.binary(), numbers)),
    scalars.map(lambda scalar: [scalar] * 40),
)
states = st.recursive(
    leaves | one_kind,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.lists(inner, max_size=5).map(lambda items: deque(items, 9)),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.sampled_from(["~array", "~set", "at", "~"]), inner),
        st.frozensets(keys, max_size=4),
        st.sets(st.integers(), min_size=30, max_size=50),
    ),
    max_leaves=6,
)


def through(state):
    aside = {}
    value = json.loads(json.dumps(encode(state, aside, "k")))
    return decode(value, aside)


def assert_same(got, state):
    if isinstance(state, deque):
        assert got.maxlen == state.maxlen
    if isinstance(state, np.ndarray | np.generic):
        assert np.asarray(got).flags.writeable or not isinstance(got, np.ndarray)
    assert same_again(got, state), (got, state)


def same_again(got, state):
    if isinstance(state, float):
        return type(got) is type(state) and repr(got) == repr(state)  # any NaN is NaN
    if isinstance(state, list | tuple | deque):
        alike = type(got) is type(state) and len(got) == len(state)
        return alike and all(map(same_again, got, state))
    if isinstance(state, dict):
        return list(got) == list(state) and all(same_again(got[key], state[key]) for key in state)
    return same(got, state)


@given(states)
def test_any_nesting_comes_back(state):
    assert_same(through(state), state)


@given(states)
def test_any_nesting_comes_back_by_the_bytes_beside(state):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(state_json, "_SMALL_BYTES", 8)
        patched.setattr(state_json, "_LONG_JSON", 40)
        assert_same(through(state), state)


LARGE = {
    "floats": lambda: [i / 7 for i in range(300_000)],
    "integers": lambda: list(range(300_000)),
    "huge integers": lambda: [2**80 + i for i in range(100_000)],
    "one integer": lambda: 7**200_000,
    "truths": lambda: [i % 3 == 0 for i in range(300_000)],
    "numpy scalars": lambda: [np.float32(i) for i in range(200_000)],
    "scalars of bfloat16": lambda: [ml_dtypes.bfloat16(i) for i in range(100_000)],
    "mixed": lambda: [i if i % 2 else i / 2 for i in range(100_000)],
    "a tuple": lambda: tuple(i / 7 for i in range(300_000)),
    "a set": lambda: set(range(300_000)),
    "bytes": lambda: bytes(3_000_000),
    "a text": lambda: "ä" * 1_000_000,
    "an array": lambda: np.arange(1_000_000.0),
    "records": lambda: np.zeros(10_000, RECORD),
    "many arrays": lambda: [np.full(2000, i) for i in range(500)],
    "many small arrays": lambda: [np.full(3, i) for i in range(20_000)],
    "many keys": lambda: {i: {"loss": i / 7} for i in range(50_000)},
    "rows": lambda: [[i / 7, i] for i in range(50_000)],
}


class Holder:
    """Holds a state."""

    def __init__(self, held=None):
        self.held = held

    def get_state(self):
        return self.held

    def set_state(self, state):
        self.held = state


@pytest.mark.parametrize("kind", sorted(LARGE))
def test_what_is_large_is_not_in_the_manifest(tmp_path, kind):
    state, other = LARGE[kind](), Holder()
    saved = Checkpoint(holder=Holder({"deep": [state]}), v=keras.Variable([1.0]))
    path = saved.write(tmp_path / "ckpt")
    saved.sync()
    assert (tmp_path / "ckpt" / "manifest.json").stat().st_size < 80_000
    Checkpoint(holder=other).read(path).expect_partial()
    assert_same(other.held["deep"][0], state)


def looped():
    loop = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "state",
    [object(), np.array([object()]), looped(), {1: {2: object}}, np.zeros(2, [("a", object)])],
)
def test_what_cannot_come_back_is_refused_when_it_is_saved(tmp_path, state):
    with pytest.raises(NotTrackableError, match=r"holds something else[\s\S]*fix: let get_state"):
        Checkpoint(holder=Holder(state)).write(tmp_path / "x")
    assert not is_plain(state)


def test_states_of_the_first_format_are_read():
    """As they were written by the version before."""
    old = {
        "b": {"~bytes": "AAE="},
        "t": {"~tuple": [1, {"~dict": [[3, None]]}]},
        "a": {"~array": "AACAPwAAAEA=", "dtype": "float32", "shape": [2]},
        "s": {"~array": "BwAAAAAAAAA=", "dtype": "int64", "shape": []},
        "h": {"~array": "gD8=", "dtype": "bfloat16", "shape": [1]},
        "l": {"~aside": "k#0"},
    }
    got = decode(old, {"k#0": np.arange(9)})
    assert got["b"] == b"\x00\x01"
    assert got["t"] == (1, {3: None})
    assert got["a"].tolist() == [1.0, 2.0]
    assert type(got["s"]) is np.int64
    assert got["h"].astype("f4").tolist() == [1.0]
    assert got["l"].tolist() == list(range(9))


class Keeper:
    """A callback of a program's own: attributes, and nothing that speaks for them."""

    def __init__(self):
        self.counts, self.by_name, self.seen = Counter(), defaultdict(list), set()
        self.last, self.rows, self.zero = deque(maxlen=3), {}, 0.0
        self.order, self.data, self.raw = [1.0] * 100, np.zeros(3), b""

    def learn(self):
        self.counts["a"] += 2
        self.by_name["b"].append(1.5)
        self.seen |= {1, (2, "c")}
        self.last.extend(range(9))
        self.rows[7] = [np.float32(1), math.nan]
        self.zero, self.order[50], self.raw = -0.0, -1.0, b"\xff"
        self.data[1] = -0.0


def test_whatever_a_callback_has_learned_comes_back_to_it(tmp_path):
    keeper = Keeper()
    others = Others([keeper])
    assert others.get_state() == [["Keeper", {}]], "nothing has changed yet"
    keeper.learn()
    path = Checkpoint(others=others).write(tmp_path / "x")
    fresh = Keeper()
    again = Others([fresh])
    Checkpoint(others=again).read(path).assert_consumed()
    again.put_back()
    for name, value in vars(keeper).items():
        got = vars(fresh)[name]
        assert type(got) is type(value)
        assert_same(dict(got) if isinstance(got, dict) else got, value)
    fresh.by_name["new"].append(1)
    assert fresh.last.maxlen == 3
