"""Who has which rows of a batch: the only place that knows shares, padding and a process' part.

In: how many rows there are.  Out: how many each replica has, and rows laid out so that every device
holds as many: what fills up is cut off again inside the program, before anything sees it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class RowSplit:
    """Shares of a batch, one a replica.

    Args:
        shares: how the rows of a batch are divided: (1, 1, 1, 1) evenly, (3, 1) three to one.
        own: the replicas of this process, which follow each other.
    """

    shares: tuple[int, ...]
    own: range

    @classmethod
    def even(cls, num_replicas: int, own: range | None = None) -> RowSplit:
        """Split rows evenly."""
        return cls((1,) * num_replicas, range(num_replicas) if own is None else own)

    @property
    def num_replicas(self) -> int:
        """How many replicas share a batch."""
        return len(self.shares)

    @cached_property
    def is_even(self) -> bool:
        """Whether all replicas have the same share."""
        return len(set(self.shares)) == 1

    # numbers

    def counts(self, num_rows: int) -> list[int]:
        """How many rows of a batch each replica has; the last ones may have fewer."""
        return [part.stop - part.start for part in self.parts(num_rows)]

    def parts(self, num_rows: int) -> list[slice]:
        """Which rows of a batch each replica has."""
        unit = -(-num_rows // sum(self.shares))
        ends = [min(end * unit, num_rows) for end in accumulate(self.shares)]
        return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch this process feeds."""
        parts = self.parts(num_rows)[self.own.start : self.own.stop]
        return slice(parts[0].start, parts[-1].stop)

    def held(self, num_rows: int) -> int:
        """How many rows each device holds, with what fills up."""
        return -(-num_rows // sum(self.shares)) * max(self.shares)

    def padded(self, num_rows: int) -> int:
        """How many rows all devices hold together, with what fills up."""
        return self.held(num_rows) * self.num_replicas

    def divides(self, num_rows: int) -> bool:
        """Whether a batch is split as XLA splits: as many rows on each device, and none more."""
        return self.is_even and num_rows % self.num_replicas == 0

    # rows

    def spread(self, rows: Any, dim: int = 0) -> Any:
        """Lay out the rows of a batch so that every device holds as many."""
        num_rows = rows.shape[dim]
        if self.is_even:
            return pad_rows(rows, self.padded(num_rows), dim)
        return self._laid_out(rows, self.parts(num_rows), self.held(num_rows), dim)

    def spread_own(self, rows: Any, num_rows: int, dim: int = 0) -> Any:
        """Lay out this process' rows of a batch of so many."""
        held = self.held(num_rows)
        if self.is_even:
            return pad_rows(rows, held * len(self.own), dim)
        first = self.share(num_rows).start
        own = self.parts(num_rows)[self.own.start : self.own.stop]
        parts = [slice(part.start - first, part.stop - first) for part in own]
        return self._laid_out(rows, parts, held, dim)

    def own_held(self, num_rows: int) -> slice:
        """Which of the rows that all devices hold are this process'."""
        held = self.held(num_rows)
        return slice(self.own.start * held, self.own.stop * held)

    def cut(self, rows: Any, num_rows: int, dim: int = 0) -> Any:
        """Give the true rows, in the order of the batch, of rows that were spread."""
        if self.is_even:
            return jax.lax.slice_in_dim(rows, 0, num_rows, axis=dim)
        held = self.held(num_rows)
        parts = [
            jax.lax.slice_in_dim(rows, replica * held, replica * held + count, axis=dim)
            for replica, count in enumerate(self.counts(num_rows))
        ]
        return jnp.concatenate(parts, dim)

    def _laid_out(self, rows: Any, parts: Iterable[slice], held: int, dim: int) -> Any:
        lead = (slice(None),) * dim
        padded = [pad_rows(rows[(*lead, part)], held, dim) for part in parts]
        return (jnp if isinstance(rows, jax.Array) else np).concatenate(padded, dim)


def pad_rows(rows: Any, num_rows: int, dim: int = 0) -> Any:
    """Fill up one array's rows at the end."""
    missing = num_rows - rows.shape[dim]
    if not missing:
        return rows
    width = [(0, 0)] * rows.ndim
    width[dim] = (0, missing)
    return (jnp if isinstance(rows, jax.Array) else np).pad(rows, width)
