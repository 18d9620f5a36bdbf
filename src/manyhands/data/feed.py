"""Feed rows to the devices ahead of the steps that need them.

In: rows (arrays, or any iterator of batches) and a Placer.  Out: placed batches, in order.
Two kinds: ArrayFeeder knows its rows, so it can keep them on the devices, gather them on several
threads and give many steps at once; StreamFeeder only knows how to ask for the next batch, and
never asks for more than the epoch will use.  Neither casts, drops or repeats a row.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Protocol

import jax
import numpy as np

from manyhands.data.gather import take_rows
from manyhands.data.order import RowOrder
from manyhands.plan import Turn, cut_turns


class Placer(Protocol):
    """The part of a Program that moves rows to the devices."""

    def place_batch(self, batch: Any) -> Any:
        """One step's rows."""
        ...

    def place_stack(self, stack: Any, num_steps: int) -> Any:
        """Several steps' rows."""
        ...

    def place_data(self, data: Any) -> Any:
        """A whole data set."""
        ...

    def place_picks(self, data: Any, rows: np.ndarray) -> Any:
        """Row numbers into a data set that was placed."""
        ...


class Rows(Protocol):
    """Arrays that are cut into batches."""

    num_rows: int
    batch_size: int
    shuffle: bool | str

    def arrays(self) -> Any | None:
        """All rows as plain arrays; None where they are something else."""
        ...

    def pick(self, rows: Any) -> Any:
        """A batch of these rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPolicy:
    """How an epoch is fed, decided when it begins."""

    placer: Placer
    steps_per_turn: int = 1
    fixed_turns: bool = True
    keep_on_device: bool = False
    turns_ahead: int = 0
    num_threads: int = 0
    early_passes: int = 0
    """So many passes are expected, each of which may begin while the one before it ends."""


@dataclass(slots=True)
class FeedCounts:
    """What feeding cost so far."""

    num_steps: int = 0
    num_rows: int = 0
    num_padded_rows: int = 0
    waited_s: float = 0.0
    kept_on_device_bytes: int = 0

    def add(self, work: list[Any], waited_s: float) -> None:
        """Count what one turn fed."""
        self.waited_s += waited_s
        for part in work:
            self.num_steps += part.num_steps
            self.num_rows += part.num_steps * part.layout.num_rows
            self.num_padded_rows += part.num_steps * (
                part.layout.padded_rows - part.layout.num_rows
            )


PolicyMaker = Callable[[], FeedPolicy | None]
"""Asked when an epoch begins; None while the model is only being built."""


class Ahead:
    """Does work ahead on threads and hands it out in order; with no threads, when asked."""

    def __init__(self, num_threads: int, depth: int) -> None:
        self._pool = ThreadPoolExecutor(num_threads, "manyhands-feed") if num_threads else None
        self._depth = depth
        self._waiting: deque[Future[Any]] = deque()

    def start(self, upcoming: Iterator[Callable[[], Any]]) -> None:
        """Begin on what is upcoming, as far ahead as allowed."""
        while self._pool is not None and len(self._waiting) <= self._depth:
            work = next(upcoming, None)
            if work is None:
                break
            self._waiting.append(self._pool.submit(_caught, work))

    def next(self, upcoming: Iterator[Callable[[], Any]]) -> Any:
        """Return the next result; StopIteration when nothing is upcoming or left."""
        if self._pool is None:
            return next(upcoming)()
        self.start(upcoming)
        if not self._waiting:
            raise StopIteration
        result, error = self._waiting.popleft().result()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Forget what was not handed out; threads end when their last piece is done."""
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _caught(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:  # handed to the thread that asks for it
        return None, error


@dataclass
class ArrayFeeder:
    """Feeds arrays: a new order of rows each pass, the same arrays on the devices."""

    rows: Rows
    policy: PolicyMaker
    counts: FeedCounts = field(default_factory=FeedCounts)
    kept: Any = None
    _open: list[Ahead] = field(default_factory=list)
    _early: ArrayFeed | None = None
    _num_passes: int = 0
    _early_passes: int = 0

    def open(self) -> ArrayFeed:
        """Start a pass over the rows: the one begun early, if there is one."""
        feed, self._early = self._early or ArrayFeed(self), None
        return feed

    def open_early(self, num_steps: int) -> None:
        """Begin the next pass while this one ends, where nobody could tell."""
        if self._num_passes < self._early_passes:
            self._early = ArrayFeed(self)
            self._early.begin(num_steps)
            self._early.start()

    def close(self) -> None:
        """Let go of threads and of data kept on the devices."""
        if self._early is not None:
            self._early.forget()
            self._early = None
        for ahead in self._open:
            ahead.close()
        self._open.clear()
        self.kept = None

    def ahead(self, policy: FeedPolicy) -> Ahead:
        """Make the threads of one pass."""
        self._num_passes += 1
        self._early_passes = policy.early_passes
        for ahead in self._open:
            ahead.close()
        self._open = [Ahead(policy.num_threads, policy.turns_ahead)]
        return self._open[0]

    def keep(self, placer: Placer) -> None:
        """Put the data on the devices, the first time."""
        if self.kept is None:
            self.kept = placer.place_data(self.rows.arrays())
            self.counts.kept_on_device_bytes = sum(
                part.nbytes for part in jax.tree.leaves(self.kept)
            )


class ArrayFeed:
    """One pass over arrays."""

    def __init__(self, feeder: ArrayFeeder) -> None:
        self._feeder = feeder
        self._order: RowOrder | None = None
        self._position = 0
        self._turns: Iterator[Turn] = iter(())
        self._policy: FeedPolicy | None = None
        self._ahead: Ahead | None = None
        self._begun: list[Turn] | None = None

    def __iter__(self) -> ArrayFeed:
        return self

    def __next__(self) -> Any:
        order = self.order
        if self._position >= order.num_batches:
            raise StopIteration
        batch = range(self._position, self._position + 1)
        self._position += 1
        return self._feeder.rows.pick(order.rows(batch))

    @property
    def order(self) -> RowOrder:
        """This pass' order of rows, drawn when the first batch is asked for."""
        if self._order is None:
            rows = self._feeder.rows
            self._order = RowOrder(rows.num_rows, rows.batch_size, rows.shuffle)
        return self._order

    def begin(self, num_steps: int | None) -> Iterator[int]:
        """Start an epoch of so many steps; give how many each turn counts."""
        assert num_steps is not None, "arrays always know how many batches they have"
        if self._begun is not None:
            turns, self._begun = self._begun, None
            return (turn.num_steps for turn in turns)
        policy = self._feeder.policy()
        if policy is None:
            return repeat(1, num_steps)
        if self._ahead is None or policy != self._policy:
            self._ahead = self._feeder.ahead(policy)
        self._policy = policy
        if policy.keep_on_device:
            self._feeder.keep(policy.placer)
        turns = self._cut(num_steps, policy)
        self._turns = iter(turns)
        self._last_cut = turns
        return (turn.num_steps for turn in turns)

    def start(self) -> None:
        """Draw the order and begin placing, before anybody asks; `begin` finds it begun."""
        assert self._ahead is not None, "start follows begin"
        order = self.order
        self._begun = self._last_cut
        self._ahead.start(self._prepare(turn, order) for turn in self._turns)

    def forget(self) -> None:
        """Undo an early start that nobody used: the order was never drawn."""
        if self._order is not None:
            self._order.undraw()

    def _cut(self, num_steps: int, policy: FeedPolicy) -> list[Turn]:
        rows = self._feeder.rows
        return cut_turns(
            first=self._position,
            num_steps=num_steps,
            num_batches=-(-rows.num_rows // rows.batch_size),
            num_full=rows.num_rows // rows.batch_size,
            stride=policy.steps_per_turn,
            fixed=policy.fixed_turns,
        )

    def take(self) -> list[Any]:
        """Give the placed work of the next turn."""
        assert self._ahead is not None, "take follows begin"
        order = self.order  # drawn here, on the caller's thread
        began_s = time.perf_counter()
        turn, work = self._ahead.next(self._prepare(turn, order) for turn in self._turns)
        if not work:
            raise StopIteration
        self._feeder.counts.add(work, time.perf_counter() - began_s)
        self._position = turn.launches[-1].stop
        return work

    def _prepare(self, turn: Turn, order: RowOrder) -> Callable[[], tuple[Turn, list[Any]]]:
        return lambda: (turn, [self._place(batches, order) for batches in turn.launches])

    def _place(self, batches: range, order: RowOrder) -> Any:
        assert self._policy is not None
        placer = self._policy.placer
        if self._policy.keep_on_device:
            return placer.place_picks(self._feeder.kept, order.numbers(batches))
        rows = order.rows(batches)
        if len(batches) == 1:
            return placer.place_batch(gather(self._feeder.rows, rows))
        stacked = jax.tree.map(
            lambda part: part.reshape(len(batches), -1, *part.shape[1:]),
            gather(self._feeder.rows, rows),
        )
        return placer.place_stack(stacked, len(batches))


def gather(source: Rows, rows: slice | np.ndarray) -> Any:
    """Copy rows out of arrays."""
    arrays = source.arrays()
    if arrays is None or isinstance(rows, slice):
        return source.pick(rows)
    return jax.tree.map(lambda part: take_rows(part, rows), arrays)


def _turns(stride: int, num_steps: int | None) -> Iterator[int]:
    return repeat(stride) if num_steps is None else repeat(stride, -(-num_steps // stride))


@dataclass
class StreamFeeder:
    """Feeds what a data adapter of Keras yields."""

    batches: Callable[[], Iterable[Any]]
    policy: PolicyMaker
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
        self._open.append(Ahead(min(1, policy.num_threads), policy.turns_ahead))
        return self._open[-1]


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
            try:
                batch = next(self)
            except StopIteration:
                if not work:
                    raise
                break
            work.append(self._policy.placer.place_batch(batch))
        return work
