"""A step made of a plain function, and layouts to run it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.sharding import Mesh, PartitionSpec

from manyhands.devices import resolve
from manyhands.engine import Layout, Leaf, RowSplit, replicated


@dataclass
class PlainStep:
    """A function of state and rows, with the leaves of its state."""

    function: Any
    state: list[Any]
    name: str = "step"

    def __post_init__(self):
        self.leaves = tuple(
            Leaf(f"part {i}", tuple(part.shape), str(part.dtype))
            for i, part in enumerate(self.state)
        )

    def __call__(self, state, rows):
        return self.function(state, rows)


def cpus(num_devices):
    return resolve([f"cpu:{i}" for i in range(num_devices)])


def on_cpus(num_devices) -> Layout:
    return replicated(cpus(num_devices))


def split_layout(num_devices, shares=None) -> Layout:
    """Split every leaf over the devices where a dim divides; rows as the shares say."""

    def spec_of(leaf):
        for dim, size in enumerate(leaf.shape):
            if size and size % num_devices == 0:
                return PartitionSpec(*[None] * dim, "rows")
        return PartitionSpec()

    shares = shares or (1,) * num_devices
    mesh = Mesh(np.array(cpus(num_devices)), ("rows",))
    return Layout(mesh, RowSplit(tuple(shares), range(num_devices)), None, spec_of)


def shared_layout(*shares) -> Layout:
    """Replicate every leaf; rows as the shares say."""
    mesh = Mesh(np.array(cpus(len(shares))), ("rows",))
    return Layout(mesh, RowSplit(shares, range(len(shares))))
