"""A strategy over four of the virtual devices."""

from __future__ import annotations

import pytest

import manyhands as mh

FOUR = [f"cpu:{i}" for i in range(4)]


@pytest.fixture
def four():
    return mh.MirroredStrategy(FOUR)
