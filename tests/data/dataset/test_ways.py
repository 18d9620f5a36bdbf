"""Elements do not depend on the way that ran, and a position is restored exactly."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manyhands.data.dataset.structure import leaves
from tests.data.dataset.pipelines import build, recipes

MOST = 150
quick = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def taken(iterator, count=MOST):
    return list(itertools.islice(iterator, count))


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert len(leaves(one)) == len(leaves(other))
        for a, b in zip(leaves(one), leaves(other), strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)


@quick
@given(recipes())
@example(("slices", (("shuffle", 3, 0), ("cache",), ("map", "double", None))))
@example(("pair", (("filter", False), ("cache",), ("shuffle", 9, 1), ("batch", 4, False))))
@example(("slices", (("shuffle", 3, 0), *(("concatenate",), ("map", "double", None)) * 2)))
@example(("generator", (("map", "noisy", None), ("shuffle", 9, 1), ("batch", 4, True))))
def test_the_chosen_way_gives_what_rows_give(recipe):
    chosen, plain = build(recipe), build(recipe)
    for _ in range(2):  # two passes: shuffles draw anew, caches are filled
        assert_same(taken(iter(chosen)), taken(plain._by_rows()))


@quick
@given(recipes(), st.integers(0, 40))
@example(("pair", (("shuffle", 9, 0), ("scan",), ("take_while",), ("batch", 2, False))), 3)
@example(("slices", (("shuffle", 9, 0), ("choose", False), ("map", "noisy", None))), 9)
@example(("generator", (("sample", False, 1), ("repeat", 2), ("shuffle", 9, 1))), 30)
@example(("range", (("shuffle", 9, 0), ("sample", True, 2), ("batch", 3, True))), 2)
def test_a_position_is_restored_in_another_dataset(recipe, position):
    first = build(recipe)
    taken(iter(first), 5)  # an iteration that is not the first
    going = iter(first)
    taken(going, position)
    state = json.loads(json.dumps(going.get_state()))
    rest = taken(going)
    after = taken(iter(first))

    second = build(recipe)
    restored = iter(second)
    restored.set_state(state)
    assert_same(taken(restored), rest)
    assert_same(taken(iter(second)), after)


@pytest.mark.parametrize("passes", [1, 2])
def test_repeat_draws_anew_and_so_does_another_iteration(passes):
    dataset = build(("slices", (("shuffle", 100, 1),)))
    seen = [tuple(int(row[0][0]) for row in dataset) for _ in range(passes + 1)]
    assert len(set(seen)) == passes + 1
    assert all(sorted(order) == sorted(seen[0]) for order in seen)
