"""Plain data: what an object holds that can be saved, compared, and given back.

In: any value.  Out: whether it is numbers, strings, bytes and arrays, or collections of them; a
copy; whether two are the same, bit for bit.  Lists of millions of numbers are looked at as a whole.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

_SMALL_BYTES = 2**20
_LARGE_BYTES = 2**29
_WITH_GAPS = "gG"
"""Kinds of numbers with bits that mean nothing: 80 in 128, on most machines."""
_FLAT = {type(None), bool, int, float, str, bytes}
_LISTS = list | tuple | deque | set | frozenset


def is_plain(value: Any) -> bool:
    """Whether a value is plain data."""
    try:
        return _is_plain(value)
    except RecursionError:  # it holds itself
        return False


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return _are_plain(value) and _are_plain(value.values())
    if isinstance(value, _LISTS):
        return _are_plain(value)
    if isinstance(value, np.ndarray | np.generic):
        return not value.dtype.hasobject
    return isinstance(value, str) or type(value) in _FLAT


def _are_plain(values: Iterable[Any]) -> bool:
    return _are_flat(values) or all(map(_is_plain, values))


def _are_flat(values: Iterable[Any]) -> bool:
    return set(map(type, values)) <= _FLAT


def copied(value: Any, *, is_data: bool = False) -> Any:
    """Copy what may be changed in place; the large arrays of a data set are not."""
    inner = partial(copied, is_data=is_data)
    if isinstance(value, dict):
        return {name: inner(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return value[:] if _are_flat(value) else type(value)(map(inner, value))
    if isinstance(value, deque):
        return deque(map(inner, value), value.maxlen)
    if isinstance(value, set):
        return set(value)
    may_change = isinstance(value, np.ndarray) and not is_taken_for_data(value, is_data=is_data)
    return value.copy() if may_change else value


def is_taken_for_data(array: np.ndarray, *, is_data: bool) -> bool:
    """Whether an array is so large that nobody is thought to change it in place.

    Those of a data set are, from a MiB on, but for what may be an order of rows, which is shuffled.
    """
    is_order = array.ndim == 1 and array.dtype.kind in "iu"
    return array.nbytes > (_SMALL_BYTES if is_data and not is_order else _LARGE_BYTES)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in type and in every bit."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple | deque):
        return len(one) == len(other) and _same_items(one, other)
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and _same_bits(one, other)
    if type(one) is float:
        return one.hex() == other.hex()
    return bool(one == other)


def _same_items(one: Any, other: Any) -> bool:
    types = set(map(type, one))
    if types == {float} == set(map(type, other)):
        return np.array(one).tobytes() == np.array(other).tobytes()
    if types <= _FLAT - {float} and list(map(type, one)) == list(map(type, other)):
        return one == other
    return all(map(same, one, other))


def _same_bits(one: Any, other: Any) -> bool:
    if one.dtype.char in _WITH_GAPS:
        parts = [(np.real(part), np.imag(part)) for part in (one, other)]
        return all(
            np.array_equal(now, then, equal_nan=True)
            and np.array_equal(np.signbit(now), np.signbit(then))
            for now, then in zip(*parts, strict=True)
        )
    now, then = (np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in (one, other))
    return bool(np.array_equal(now, then))


def refilled(before: Any, value: Any) -> Any:
    """Copy a value that was saved; a dict of the program's own kind stays of that kind."""
    if isinstance(before, dict) and type(before) is not dict and isinstance(value, dict):
        kept = copy.copy(before)  # a defaultdict with its factory, a Counter
        kept.clear()
        kept.update(copied(value))
        return kept
    return copied(value)
