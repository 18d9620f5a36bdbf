"""When sums are joined."""

from __future__ import annotations

import pytest

from manyhands.plan import joins_sums

SMALL, LARGE = 10**6, 10**9


@pytest.mark.parametrize(
    ("num_devices", "platform", "state_bytes", "joins"),
    [(1, "cpu", SMALL, False), (4, "cpu", SMALL, True), (4, "cpu", LARGE, False)]
    + [(count, "gpu", SMALL, False) for count in (1, 8)],
)
def test_where_meetings_are_felt(num_devices, platform, state_bytes, joins):
    answer = joins_sums(num_devices=num_devices, platform=platform, state_bytes=state_bytes)
    assert answer is joins
