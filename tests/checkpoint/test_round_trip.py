"""What is saved comes back bit for bit: any dtype, any shape, any nesting."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import jax.numpy as jnp
import keras
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from manyhands.checkpoint import Checkpoint, NotTrackableError
from manyhands.checkpoint.array_store import read_arrays, write_arrays
from manyhands.checkpoint.manifest import ArraySpec
from manyhands.checkpoint.reader import list_variables
from manyhands.checkpoint.state_json import decode, encode

DTYPES = [
    *("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "bool"),
    *("uint8", "uint16", "uint32", "uint64", "complex64", "float8_e4m3fn", "int4"),
]


@st.composite
def arrays(draw):
    """Draw an array of any bits, NaNs with their payloads included."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
    if dtype in (np.dtype("bool"), np.dtype("int4")):
        return draw(hnp.arrays(np.int8, shape, elements=st.integers(0, 1))).astype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype).reshape(shape)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(arrays(), max_size=8))
def test_arrays_come_back_bit_for_bit(values):
    stored = {f"model/layers/{i}/k.e y%": value for i, value in enumerate(values)}
    specs = {key: ArraySpec(value.shape, str(value.dtype)) for key, value in stored.items()}
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(Path(folder) / "arrays", stored)
        got = read_arrays(Path(folder) / "arrays", specs)
    assert got.keys() == stored.keys()
    for key, value in stored.items():
        assert (got[key].dtype, got[key].shape) == (value.dtype, value.shape)
        assert got[key].tobytes() == value.tobytes()


class Box:
    """An object of the program's own, like a tf.Module."""


def trees(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.sampled_from(["a", "b/c", "%2F", "1", "_x"]), inner, max_size=3),
            st.dictionaries(st.sampled_from(["w", "_v", "net"]), inner, max_size=2).map(_boxed),
        ),
        max_leaves=6,
    )


def _boxed(parts):
    box = Box()
    vars(box).update(parts)
    return box


def _variables(tree):
    if isinstance(tree, keras.Variable):
        return [tree]
    items = tree.values() if isinstance(tree, dict) else tree
    items = vars(tree).values() if isinstance(tree, Box) else items
    return [variable for item in items for variable in _variables(item)]


def _copied(tree):
    if isinstance(tree, keras.Variable):
        return keras.Variable(np.zeros(tree.shape, tree.dtype), dtype=tree.dtype)
    if isinstance(tree, Box):
        return _boxed({key: _copied(item) for key, item in vars(tree).items()})
    if isinstance(tree, dict):
        return {key: _copied(item) for key, item in tree.items()}
    return type(tree)(_copied(item) for item in tree)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    trees(
        st.tuples(st.sampled_from(["float32", "int32", "bfloat16"]), st.integers(0, 99)).map(
            lambda it: keras.Variable(np.full((2,), it[1]), dtype=it[0])
        )
    )
)
def test_any_nesting_comes_back(tree):
    twin = _copied(tree)
    with tempfile.TemporaryDirectory() as folder:
        path = Checkpoint(tree=[tree]).write(f"{folder}/x")
        Checkpoint(tree=[twin]).read(path).assert_consumed()
    for one, other in zip(_variables(tree), _variables(twin), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "uint32", "bool"])
def test_a_variable_keeps_its_dtype(tmp_path, dtype):
    saved = keras.Variable(np.arange(6).reshape(2, 3), dtype=dtype)
    path = Checkpoint(v=saved).save(tmp_path / "ckpt")
    restored = keras.Variable(np.zeros((2, 3)), dtype=dtype)
    Checkpoint(v=restored).restore(path).assert_consumed()
    assert restored.value.dtype == saved.value.dtype
    assert np.asarray(restored.value).tobytes() == np.asarray(saved.value).tobytes()


def test_float64_and_int64(tmp_path, float64):
    saved = [
        keras.Variable(np.array([1 / 3]), dtype="float64"),
        keras.Variable(2**40, dtype="int64"),
    ]
    path = Checkpoint(v=saved).save(tmp_path / "ckpt")
    restored = [keras.Variable(np.zeros(1), dtype="float64"), keras.Variable(0, dtype="int64")]
    Checkpoint(v=restored).restore(path).assert_consumed()
    assert restored[0].numpy()[0] == 1 / 3
    assert int(restored[1]) == 2**40


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text() | st.integers(), inner),
    ),
    max_leaves=8,
)


@given(plain)
def test_states_survive_json(state):
    import json

    aside = {}
    assert repr(decode(json.loads(json.dumps(encode(state, aside, "k"))), aside)) == repr(state)


def test_arrays_in_states():
    array = np.array([[1.5, 2]], ml_dtypes.bfloat16)
    got = decode(encode({"keys": array, "n": np.int64(7)}, {}, "k"), {})
    assert got["keys"].dtype == array.dtype
    assert got["keys"].tobytes() == array.tobytes()
    assert got["n"] == 7


def test_large_arrays_in_states_are_stored_beside_the_others(tmp_path):
    class Holder:
        def __init__(self, size):
            self.held = [np.arange(size), {"b": np.full((size, 2), 1.5, ml_dtypes.bfloat16)}]

        def get_state(self):
            return self.held

        def set_state(self, state):
            self.held = state

    one, other = Holder(5000), Holder(1)
    saved = Checkpoint(holder=one, v=keras.Variable([1.0]))
    path = saved.write(tmp_path / "ckpt")
    saved.sync()
    assert (tmp_path / "ckpt" / "manifest.json").stat().st_size < 20_000
    Checkpoint(holder=other).read(path).expect_partial()
    assert other.held[0].tobytes() == one.held[0].tobytes()
    assert other.held[1]["b"].dtype == ml_dtypes.bfloat16
    assert other.held[1]["b"].shape == (5000, 2)
    assert [name for name, _ in list_variables(path)] == ["v"]


def test_a_state_that_is_not_plain_data_is_refused(tmp_path):
    class Odd:
        def get_state(self):
            return object()

        def set_state(self, state):
            pass

    with pytest.raises(NotTrackableError, match=r"odd: Odd.get_state\(\)[\s\S]*fix: let get_state"):
        Checkpoint(odd=Odd()).write(tmp_path / "x")


@pytest.mark.parametrize("value", [3, 2.5, np.zeros(2), jnp.zeros(2)])
def test_plain_values_are_refused(value):
    with pytest.raises(NotTrackableError, match=r"step=[\s\S]*fix: wrap .*keras.Variable\(step\)"):
        Checkpoint(step=value)


@pytest.mark.parametrize("value", ["word", None, len, re.compile("x")])
def test_other_things_without_state_are_refused(value):
    with pytest.raises(NotTrackableError, match=r"it=[\s\S]*fix: leave it out, or give its class"):
        Checkpoint(it=value)
