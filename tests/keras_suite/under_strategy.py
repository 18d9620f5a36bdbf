"""A pytest plugin: every test of another suite runs inside the scope of a 4-device strategy."""

from __future__ import annotations

import manyhands as mh

mh.config.set_virtual_devices(4)

import pytest  # noqa: E402


@pytest.fixture(autouse=True)
def manyhands_scope():
    with mh.MirroredStrategy().scope() as strategy:
        assert strategy.num_replicas_in_sync == 4
        yield
