from __future__ import annotations

from dataclasses import dataclass

import jax
import pytest

import manyhands as mh
from manyhands.devices import resolve
from manyhands.devices.choose import require_alike
from manyhands.errors import DeviceError


def test_nothing_named_means_every_local_device():
    assert resolve() == tuple(jax.local_devices())


def test_names_devices_and_single_values_are_taken():
    first, third = jax.devices("cpu")[0], jax.devices("cpu")[2]
    assert resolve(["cpu:0", third]) == (first, third)
    assert resolve("/device:CPU:2") == (third,)
    assert resolve(third) == (third,)
    assert resolve(mh.devices.parse("cpu:2")) == (third,)


def test_an_unknown_device_is_named_with_those_that_are_here():
    with pytest.raises(DeviceError, match=r"(?s)got: GPU:3; visible: .*CPU:0.*fix: choose"):
        resolve(["GPU:3"])


def test_a_repeated_device_is_named():
    with pytest.raises(DeviceError, match="fix: name CPU:1 once"):
        resolve(["cpu:1", "/cpu:1"])


def test_no_device_at_all_is_refused():
    with pytest.raises(DeviceError, match="fix: name devices, or leave the argument out"):
        resolve([])


@dataclass(frozen=True)
class Machine:
    """A stand-in for JAX's client of a machine with unlike cards, which nobody here has."""

    kinds: tuple[str, ...]

    def devices(self) -> list[Card]:
        return [Card(self, kind) for kind in self.kinds]


@dataclass(frozen=True)
class Card:
    """One of its cards."""

    client: Machine
    device_kind: str
    platform: str = "gpu"
    process_index: int = 0


def test_unlike_devices_are_named_with_what_to_do():
    cards = Machine(("NVIDIA A100", "NVIDIA H200")).devices()
    with pytest.raises(
        DeviceError,
        match=r"(?s)GPU:0 \(NVIDIA A100\), GPU:1 \(NVIDIA H200\).*one process per model of GPU",
    ):
        require_alike(cards)
