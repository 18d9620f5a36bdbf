from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from manyhands.data import RowOrder
from manyhands.data.gather import take_rows


@given(
    num_rows=st.integers(1, 60),
    batch_size=st.integers(1, 20),
    shuffle=st.sampled_from([True, False, "batch"]),
    seed=st.integers(0, 1000),
)
def test_rows_come_in_the_order_that_keras_reads_them(num_rows, batch_size, shuffle, seed):
    np.random.seed(seed)
    numbers = np.arange(num_rows)
    adapter = ArrayDataAdapter(numbers, batch_size=batch_size, shuffle=shuffle)
    wanted = [np.ravel(batch) for batch in adapter.get_jax_iterator()]
    after = np.random.random()
    np.random.seed(seed)
    order = RowOrder(num_rows, batch_size, shuffle)
    got = [numbers[order.rows(range(i, i + 1))] for i in range(order.num_batches)]
    assert [part.tolist() for part in got] == [part.tolist() for part in wanted]
    assert np.random.random() == after, "NumPy's generator is left as Keras leaves it"


def test_an_order_can_be_given_back_unless_others_have_drawn():
    np.random.seed(5)
    wanted = np.random.random()
    np.random.seed(5)
    RowOrder(100, 10, True, undoable=True).undraw()
    assert np.random.random() == wanted
    order = RowOrder(100, 10, True, undoable=True)
    after = np.random.random()
    order.undraw()
    assert np.random.random() != after


@pytest.mark.parametrize("shape", [(), (3,), (64, 64, 3)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_rows_are_copied_whole_on_any_number_of_threads(shape, dtype, monkeypatch):
    monkeypatch.setattr("manyhands.data.gather._PIECE_BYTES", 1000)
    monkeypatch.setattr("manyhands.data.gather._num_threads", lambda: 3)
    part = np.arange(500 * int(np.prod(shape))).reshape(500, *shape).astype(dtype)
    rows = np.random.default_rng(0).permutation(500)[:77]
    taken = take_rows(part, rows)
    assert taken.dtype == part.dtype
    np.testing.assert_array_equal(taken, part[rows])
