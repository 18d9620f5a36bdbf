"""Reading ahead: on a thread that dies with its iterator and passes errors on."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

from manyhands.data.dataset import AUTOTUNE, Dataset


def readers() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "manyhands-prefetch"]


def assert_no_readers():
    gc.collect()
    for thread in readers():
        thread.join(5)
    assert not readers()


def endless():
    number = 0
    while True:
        yield np.int32(number)
        number += 1


@pytest.mark.parametrize("depth", [0, 1, 5, AUTOTUNE])
def test_elements_are_the_same(depth):
    dataset = Dataset.from_generator(endless).take(50).prefetch(depth)
    assert [int(x) for x in dataset] == list(range(50))
    assert_no_readers()


def test_it_reads_ahead_and_no_further():
    seen = []

    def noted():
        for number in range(100):
            seen.append(number)
            yield np.int32(number)

    rows = iter(Dataset.from_generator(noted).prefetch(3))
    assert not seen, "nothing is read before the first element is asked for"
    next(rows)
    deadline = time.monotonic() + 5
    while len(seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert 3 <= len(seen) <= 5  # one taken, up to three waiting and one in the reader's hand
    rows.close()
    assert_no_readers()


def test_a_forgotten_iterator_ends_its_thread():
    rows = iter(Dataset.from_generator(endless).prefetch(2))
    next(rows)
    assert readers()
    del rows
    assert_no_readers()


def test_a_loop_broken_off_ends_its_thread():
    for number in Dataset.from_generator(endless).map(lambda x: x).prefetch(2).batch(3).prefetch(1):
        if number[0] > 10:
            break
    del number
    assert_no_readers()


def test_an_error_comes_where_its_element_would_have():
    def fails():
        yield np.int32(1)
        yield np.int32(2)
        raise OSError("disk")

    rows = iter(Dataset.from_generator(fails).prefetch(5))
    assert [int(next(rows)), int(next(rows))] == [1, 2]
    with pytest.raises(OSError, match="disk"):
        next(rows)
    with pytest.raises(StopIteration):
        next(rows)
    assert_no_readers()
