"""What a callback has learned is found, also where it was changed in place."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from manyhands.checkpoint.fit_state import Others
from manyhands.errors import ManyhandsWarning


class Table(keras.callbacks.Callback):
    def __init__(self, size, dtype="float32"):
        super().__init__()
        self.table = np.zeros(size, dtype)
        self.nested = {"a": [np.zeros(size, dtype)]}


class Rows(keras.utils.PyDataset):
    def __init__(self, size):
        super().__init__()
        self.x = np.zeros(size, "float32")
        self.order = np.arange(size)


@pytest.mark.parametrize("size", [1, 1_000, 300_000, 3_000_000])
def test_an_array_of_a_callback_changed_in_place_is_kept(size):
    callback = Table(size)
    others = Others([callback])
    assert others.get_state() == [["Table", {}]]
    callback.table[-1] = 3.0
    callback.nested["a"][0][0] = 5.0
    (_, learned), *_ = others.get_state()
    assert learned.keys() == {"table", "nested"}
    fresh = Table(size)
    again = Others([fresh])
    again.set_state([["Table", learned]])
    again.put_back()
    assert fresh.table[-1] == 3.0
    assert fresh.nested["a"][0][0] == 5.0


def test_the_rows_of_a_data_set_are_not_copied_but_their_order_is():
    data = Rows(3_000_000)
    others = Others([data])
    data.x[0] = 1.0
    data.order[:2] = 1, 0
    (_, learned), *_ = others.get_state()
    assert learned.keys() == {"order"}


def test_an_array_too_large_to_compare_is_told_of():
    callback = Table(1)
    callback.table = np.empty(2**29 + 1, "uint8").reshape(1, -1)
    with pytest.warns(ManyhandsWarning, match=r"get_state\(\) and set_state\(state\)"):
        Others([callback])
