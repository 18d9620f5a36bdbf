"""A step that catches what cannot be followed acts once, as calling it does."""

from __future__ import annotations

import contextlib
import sys
import time

import numpy as np
import pytest

from manyhands.errors import ManyhandsWarning
from tests.strategies.rows import X


class Log:
    """What a step leaves behind, in places that only some of its functions name."""

    def __init__(self):
        self.before, self.after, self.kinds = [], [], []

    def begin(self):
        self.before.append("begin")

    def end(self):
        self.after.append("end")

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, kind, *_):
        self.kinds.append(kind)
        self.end()

    @contextlib.contextmanager
    def around(self):
        self.begin()
        try:
            yield
        finally:
            self.end()

    def held(self):
        return len(self.before), len(self.after), len(self.kinds)


def catches(log, x):
    try:
        time.time()
    except Exception:
        log.end()
    return x.sum()


def catches_all(log, x):
    try:
        log.begin()
        time.time()
    except:  # noqa: E722
        log.end()
    return x.sum()


def catches_again_and_again(log, x):
    for _ in range(3):
        with contextlib.suppress(BaseException):
            time.time()
        log.end()
    return x.sum()


def ends_in_finally(log, x):
    try:
        time.time()
        return x.sum()
    finally:
        log.end()


def ends_a_context(log, x):
    with log:
        time.time()
    return x.sum()


def ends_a_generator(log, x):
    with log.around():
        time.time()
        return x.sum()


def catches_far_away(log, x):
    def inner():
        with log, log.around():
            return (lambda: time.time() and 1.0)()

    try:
        return x.sum() * inner()
    except BaseException:
        log.begin()
        raise
    finally:
        log.end()


def turns_it_into_another(log, x):
    try:
        time.time()
    except BaseException as error:
        log.end()
        raise ValueError("no time") from error
    return x.sum()


STEPS = [
    catches,
    catches_all,
    catches_again_and_again,
    ends_in_finally,
    ends_a_context,
    ends_a_generator,
    catches_far_away,
    turns_it_into_another,
]


@pytest.mark.parametrize("acts", STEPS)
def test_it_acts_once(four, acts):
    wanted, found = Log(), Log()
    expected = [acts(wanted, X) for _ in range(3)]

    def step(x):
        return acts(found, x)

    with pytest.warns(ManyhandsWarning, match=r"time\.time"):
        given = [float(four.run(step, args=(X,))) for _ in range(3)]
    np.testing.assert_allclose(given, expected, rtol=1e-5)
    assert found.held() == wanted.held()
    assert sys.getprofile() is None


def test_a_tracing_hook_is_given_back(four):
    before = sys.gettrace()
    heard = []

    def tracer(frame, event, _):
        heard.append(event)

    sys.settrace(tracer)
    try:
        with pytest.warns(ManyhandsWarning):
            four.run(lambda x: catches_all(Log(), x), args=(X,))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert heard
