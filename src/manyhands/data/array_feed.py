"""Feed arrays: rows by number, from the host or from data kept on the devices.

In: arrays cut into batches, and a policy.  Out: the placed rows of each turn, in order.
It knows its rows, so it gathers them on several threads, gives many steps at once, and can begin
the next pass while this one ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Protocol

import jax
import numpy as np

from manyhands.data.feed import Agreement, Ahead, FeedCounts, FeedPolicy, Placer, PolicyMaker
from manyhands.data.gather import take_rows
from manyhands.data.order import RowOrder, numbered
from manyhands.data.random_state import random_state, set_random_state
from manyhands.data.resumable import Resumable
from manyhands.plan import Turn, cut_turns


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

    def refresh(self) -> None:
        """Look at the arrays again: somebody may have changed them."""
        ...


@dataclass
class ArrayFeeder(Resumable):
    """Feeds arrays: a new order of rows each pass, the same arrays on the devices."""

    rows: Rows
    policy: PolicyMaker
    agreement: Agreement | None = None
    counts: FeedCounts = field(default_factory=FeedCounts)
    kept: Any = None
    _open: list[Ahead] = field(default_factory=list)
    _early: ArrayFeed | None = None
    _num_passes: int = 0
    _early_passes: int = 0
    _current: ArrayFeed | None = None

    def open(self) -> ArrayFeed:
        """Start a pass over the rows: the one begun early, if there is one."""
        position = self._take_position()
        self._current = self._open_next() if position is None else self._reopened(position)
        return self._current

    def position(self) -> dict[str, Any]:
        """Say where training is in its rows, as JSON can hold it."""
        feed = self._current
        if feed is None or not feed.is_open:
            return {"random": None, "batches": 0, "ended": True}
        if self.rows.shuffle == "batch":  # each batch draws for itself: go on drawing
            return {"random": None, "batches": feed.num_taken, "goes_on": True}
        return {"random": feed.drawn_from, "batches": feed.num_taken}

    def finish(self) -> None:
        """Note that the pass has ended: what comes is another."""
        self._current = None

    def _reopened(self, position: dict[str, Any]) -> ArrayFeed:
        if position["random"] is not None:
            set_random_state(position["random"])
        self.rows.refresh()
        return ArrayFeed(self, first=position["batches"])

    def _open_next(self) -> ArrayFeed:
        feed, self._early = self._early, None
        if feed is None:
            if self.kept is None:
                self.rows.refresh()
            feed = ArrayFeed(self)
        return feed

    def open_early(self, num_steps: int) -> None:
        """Begin the next pass while this one ends, where nobody could tell."""
        if self._num_passes < self._early_passes and self.rows.shuffle != "batch":
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

    def __init__(self, feeder: ArrayFeeder, first: int = 0) -> None:
        self._feeder = feeder
        self._order: RowOrder | None = None
        self._position = first
        self.begins = True
        """Whether the next turn is the first of an epoch."""
        self.drawn_from: Any = None
        """Random numbers as they were before this pass drew its order; None if it drew nothing."""
        self._turns: Iterator[Turn] = iter(())
        self._policy: FeedPolicy | None = None
        self._ahead: Ahead | None = None
        self._begun: list[Turn] | None = None
        self._last_cut: list[Turn] = []

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
    def is_begun(self) -> bool:
        """Whether there is work to take; otherwise `next` gives host batches."""
        return self._ahead is not None

    @property
    def is_open(self) -> bool:
        """Whether its order has been drawn."""
        return self._order is not None

    @property
    def num_taken(self) -> int:
        """How many batches of the pass have been used."""
        return self._position

    @property
    def order(self) -> RowOrder:
        """This pass' order of rows, drawn when the first batch is asked for."""
        return self._order or self._draw()

    def _draw(self, *, undoable: bool = False) -> RowOrder:
        rows, agreement = self._feeder.rows, self._feeder.agreement
        if agreement is not None:
            kind = {"rows": rows.num_rows, "batch_size": rows.batch_size, "shuffle": rows.shuffle}
            agreement.same("the rows", kind)
            if rows.shuffle:
                agreement.order()
        self.drawn_from = random_state() if rows.shuffle else None
        self._order = RowOrder(rows.num_rows, rows.batch_size, rows.shuffle, undoable=undoable)
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
        if self._feeder.agreement is not None:
            launches = [[len(one) for one in turn.launches] for turn in turns]
            self._feeder.agreement.same("the epoch", {"steps": num_steps, "launches": launches})
        self._turns = iter(turns)
        self.begins = True
        self._last_cut = turns
        return (turn.num_steps for turn in turns)

    def start(self) -> None:
        """Draw the order and begin placing, before anybody asks; `begin` finds it begun."""
        assert self._ahead is not None, "start follows begin"
        order = self._draw(undoable=True)
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
        self.begins = False
        return work

    def _prepare(self, turn: Turn, order: RowOrder) -> Callable[[], tuple[Turn, list[Any]]]:
        drawn = [(len(launch), order.rows(launch)) for launch in turn.launches]  # on this thread
        return lambda: (turn, [self._place(count, rows) for count, rows in drawn])

    def _place(self, num_batches: int, rows: slice | np.ndarray) -> Any:
        assert self._policy is not None
        placer = self._policy.placer
        if self._policy.keep_on_device:
            return placer.place_picks(self._feeder.kept, numbered(rows, num_batches))
        num_rows = _count(rows) // num_batches
        share = placer.share(num_rows)
        own = num_rows if share == slice(0, num_rows) else share.stop - share.start
        if own != num_rows:
            rows = numbered(rows, num_batches)[:, share].ravel()
        batch = gather(self._feeder.rows, rows)
        of = None if own == num_rows else num_rows
        if num_batches == 1:
            return placer.place_batch(batch, of)
        stacked = jax.tree.map(lambda p: p.reshape(num_batches, own, *p.shape[1:]), batch)
        return placer.place_stack(stacked, num_batches, of)


def _count(rows: slice | np.ndarray) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def gather(source: Rows, rows: slice | np.ndarray) -> Any:
    """Copy rows out of arrays."""
    arrays = source.arrays()
    if arrays is None or isinstance(rows, slice):
        return source.pick(rows)
    return jax.tree.map(lambda part: take_rows(part, rows), arrays)
