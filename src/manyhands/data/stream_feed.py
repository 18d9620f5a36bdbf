"""Feed whatever yields batches: generators, PyDataset, tf.data, torch, Grain.

In: a function that starts a pass over batches, and a policy.  Out: the placed rows of each turn.
It never asks the source for more than the epoch will use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import jax
import numpy as np

from manyhands.data.feed import Agreement, Ahead, FeedCounts, FeedPolicy, PolicyMaker


def _turns(stride: int, num_steps: int | None) -> Iterator[int]:
    return repeat(stride) if num_steps is None else repeat(stride, -(-num_steps // stride))


@dataclass
class StreamFeeder:
    """Feeds what a data adapter of Keras yields."""

    batches: Callable[[], Iterable[Any]]
    policy: PolicyMaker
    agreement: Agreement | None = None
    counts: FeedCounts = field(default_factory=FeedCounts)
    _open: list[Ahead] = field(default_factory=list)

    def open(self) -> StreamFeed:
        """Start a pass."""
        return StreamFeed(self)

    def open_early(self, num_steps: int) -> None:
        """Never: asking for a batch is something the source can notice."""

    def close(self) -> None:
        """Let go of threads."""
        for ahead in self._open:
            ahead.close()
        self._open.clear()

    def ahead(self, policy: FeedPolicy) -> Ahead:
        """Make the thread of one pass: one, since an iterator is asked one thing at a time."""
        self.close()
        self._open = [Ahead(min(1, policy.num_threads), policy.turns_ahead)]
        return self._open[0]


class StreamFeed:
    """One pass over an iterator of batches."""

    def __init__(self, feeder: StreamFeeder) -> None:
        self._feeder = feeder
        self._source: Iterator[Any] | None = None
        self._ahead: Ahead | None = None
        self._policy: FeedPolicy | None = None
        self._turns: Iterator[int] = iter(())

    def __iter__(self) -> StreamFeed:
        return self

    def __next__(self) -> Any:
        if self._source is None:
            self._source = iter(self._feeder.batches())
        return next(self._source)

    @property
    def is_begun(self) -> bool:
        """Whether there is work to take; otherwise `next` gives host batches."""
        return self._ahead is not None

    def begin(self, num_steps: int | None) -> Iterator[int]:
        """Start an epoch; with no number of steps, until the source ends."""
        policy = self._feeder.policy()
        stride = 1 if policy is None else policy.steps_per_turn
        if policy is not None:
            self._policy = policy
            self._turns = _turns(stride, num_steps)
            if self._ahead is None:
                self._ahead = self._feeder.ahead(policy)
        return _turns(stride, num_steps)

    def take(self) -> list[Any]:
        """Give the placed work of the next turn."""
        assert self._ahead is not None, "take follows begin"
        began_s = time.perf_counter()
        work = self._ahead.next(self._prepare(stride) for stride in self._turns)
        self._feeder.counts.add(work, time.perf_counter() - began_s)
        return work

    def _prepare(self, stride: int) -> Callable[[], list[Any]]:
        return lambda: self._read(stride)

    def _read(self, stride: int) -> list[Any]:
        assert self._policy is not None
        work = []
        for _ in range(stride):
            batch = next(self, _END)
            self._agree(batch)
            if batch is _END:
                if not work:
                    raise StopIteration
                break
            work.append(self._policy.placer.place_batch(batch))
        return work

    def _agree(self, batch: Any) -> None:
        """See that every process has this batch, or none: the step waits for all."""
        if self._feeder.agreement is None:
            return
        shapes = "no more" if batch is _END else [list(np.shape(p)) for p in jax.tree.leaves(batch)]
        self._feeder.agreement.same("the next batch", shapes, channel="feed")


_END = object()
