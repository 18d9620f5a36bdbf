"""Feed whatever yields batches: generators, PyDataset, tf.data, torch, Grain.

In: a function that starts a pass over batches, and a policy.  Out: the placed rows of each turn.
It never asks the source for more than the epoch will use.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import jax
import numpy as np

from manyhands.data.dataset.own_batch import Part
from manyhands.data.feed import Agreement, Ahead, FeedCounts, FeedPolicy, PolicyMaker
from manyhands.data.plain import batch_for_jax
from manyhands.data.random_state import random_state, set_random_state
from manyhands.data.resumable import Resumable


def _turns(stride: int, num_steps: int | None) -> Iterator[int]:
    return repeat(stride) if num_steps is None else repeat(stride, -(-num_steps // stride))


@dataclass
class StreamFeeder(Resumable):
    """Feeds what a data adapter of Keras yields."""

    batches: Callable[[], Iterable[Any]]
    policy: PolicyMaker
    agreement: Agreement | None = None
    counts: FeedCounts = field(default_factory=FeedCounts)
    _open: list[Ahead] = field(default_factory=list)
    _current: StreamFeed | None = None
    _last_pass: Any = None

    def open(self) -> StreamFeed:
        """Start a pass; the first after `resume`, where that said."""
        resumed = self._take_position()
        if resumed is not None and resumed.get("ended"):
            self._go_past(resumed["pass"])
            resumed = None
        self._current = StreamFeed(self, resumed)
        return self._current

    def finish(self) -> None:
        """Note that the pass has ended: what comes is another."""
        if self._current is not None and self._current.is_open:
            self._last_pass = self._current.position()["pass"]
        self._current = None

    def _go_past(self, last_pass: Any) -> None:
        """Let the source know which pass was the last, so that it begins the one after it."""
        self._last_pass = last_pass
        source: Any = None if last_pass is None else iter(self.batches())
        if hasattr(source, "set_state"):
            source.set_state(last_pass)

    def position(self) -> dict[str, Any]:
        """Say where training is in its data, as JSON can hold it."""
        feed = self._current
        if feed is None or not feed.is_open:
            return {"pass": self._last_pass, "batches": 0, "random": None, "ended": True}
        return feed.position()

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

    def __init__(self, feeder: StreamFeeder, resumed: dict[str, Any] | None) -> None:
        self._feeder = feeder
        self._resumed = resumed
        self._source: Iterator[Any] | None = None
        self._ahead: Ahead | None = None
        self._policy: FeedPolicy | None = None
        self._turns: Iterator[int] = iter(())
        self._start: Any = None
        self._drawn_from: Any = None
        self._no_rows: Any = None
        self._looked_at: Any = None
        self._compared = False
        self.begins = True
        """Whether the next turn is the first of an epoch."""
        self._num_taken = 0

    def __iter__(self) -> StreamFeed:
        return self

    def __next__(self) -> Any:
        batch = self._draw()
        if batch is _END:
            raise StopIteration
        return batch[0] if isinstance(batch, Part) else batch

    def _draw(self) -> Any:
        if self._source is None:
            self._source = self._opened()
        if self._looked_at is not None:
            batch, self._looked_at = self._looked_at, None
            return batch
        batch = next(self._source, _END)
        if batch is _END:
            return batch
        if isinstance(batch, Part):
            return Part((batch_for_jax(batch[0]), batch[1]))
        return batch_for_jax(batch)

    @property
    def resumes_at_end(self) -> bool:
        """Whether an earlier program had used the last batch, and this one finds none left."""
        if self._resumed is None or self._looked_at is not None:
            return False
        self._looked_at = self._draw()
        ended = self._looked_at is _END
        agreement = self._feeder.agreement
        return ended if agreement is None else agreement.everybody("the end of the data", ended)

    def position(self) -> dict[str, Any]:
        """Where the pass began, and how many of its batches have been used since.

        What cannot tell its place is asked for all of them again, with the same random numbers.
        """
        return {
            "pass": self._start,
            "batches": self._num_taken,
            "random": self._drawn_from,
            "goes_on": self._start is None,
        }

    def _opened(self) -> Iterator[Any]:
        resumed = self._resumed or {"pass": None, "batches": 0, "random": None}
        if resumed["random"] is not None:
            set_random_state(resumed["random"])
        source: Any = iter(self._feeder.batches())
        if self._feeder.agreement is not None and getattr(source, "kind", "common") != "own":
            self._feeder.agreement.order(channel="feed")
        self._drawn_from = random_state()
        self._start, self._num_taken = resumed["pass"], resumed["batches"]
        if self._start is not None:
            position = self._start["position"] + self._num_taken
            source.set_state({**self._start, "position": position})
        else:
            for _ in range(self._num_taken):
                next(source, None)
            if hasattr(source, "get_state"):
                self._start = source.get_state()
        if self._feeder.agreement is not None and getattr(source, "kind", "common") != "own":
            self._feeder.agreement.passes(source, channel="feed")
            if hasattr(source, "get_state") and not self._num_taken:
                self._start = source.get_state()
        return source

    @property
    def is_open(self) -> bool:
        """Whether it has asked the source for anything."""
        return self._source is not None

    @property
    def is_begun(self) -> bool:
        """Whether there is work to take; otherwise `next` gives host batches."""
        return self._ahead is not None

    def begin(self, num_steps: int | None) -> Iterator[int]:
        """Start an epoch; with no number of steps, until the source ends."""
        policy = self._feeder.policy()
        stride = 1 if policy is None else policy.steps_per_turn
        self.begins = True
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
        agreement = self._feeder.agreement
        with nullcontext() if agreement is None else agreement.waiting("waiting for rows"):
            work = self._ahead.next(self._prepare(stride) for stride in self._turns)
        work = [self._placed(part) if isinstance(part, tuple) else part for part in work]
        self._feeder.counts.add(work, time.perf_counter() - began_s)
        self._num_taken += len(work)
        self.begins = False
        return work

    def _prepare(self, stride: int) -> Callable[[], list[Any]]:
        return lambda: self._read(stride)

    def _read(self, stride: int) -> list[Any]:
        assert self._policy is not None
        work = []
        for _ in range(stride):
            found = self._next_batch()
            if found is None:
                if not work:
                    raise StopIteration
                break
            work.append(found if self._is_uneven(found) else self._placed(found))
        return work

    def _is_uneven(self, found: tuple[Any, int | None]) -> bool:
        return self._kind != "common" and found[1] is None

    def _placed(self, found: tuple[Any, int | None]) -> Any:
        assert self._policy is not None
        batch, num_rows = found
        if self._feeder.agreement is not None:
            batch = self._feeder.agreement.even(batch)
        return self._policy.placer.place_batch(batch, num_rows)

    def _next_batch(self) -> tuple[Any, int | None] | None:
        """Give the next batch, and how many rows it has where these are only ours."""
        batch, agreement = self._draw(), self._feeder.agreement
        if agreement is None:
            return None if batch is _END else (batch, None)
        if self._kind == "common":
            agreement.same("the next batch", _shapes(batch), channel="feed")
            if batch is _END:
                return None
            if not self._compared:
                self._compared = True
                agreement.alike(_sample(batch), channel="feed")
            return batch, None
        if batch is _END:
            return agreement.rows(self._no_rows, None, ended=True, channel="feed")
        batch, total = batch if isinstance(batch, Part) else (batch, None)
        self._no_rows = jax.tree.map(lambda part: part[:0], batch)
        return agreement.rows(batch, total, channel="feed")

    @property
    def _kind(self) -> str:
        return getattr(self._source, "kind", "common")


_END = object()
_SAMPLED = 4096


def _sample(batch: Any) -> int:
    """Give a number that tells batches of other rows apart: of some values of each array."""
    digest = 0
    for part in jax.tree.leaves(batch):
        flat = part.reshape(-1)
        digest = zlib.crc32(np.asarray(flat[:: 1 + len(flat) // _SAMPLED]).tobytes(), digest)
    return digest


def _shapes(batch: Any) -> Any:
    if batch is _END:
        return "no more"
    return [list(np.shape(part)) for part in jax.tree.leaves(batch)]
