"""What every feed shares: how an epoch is fed, what it cost, and working ahead on threads.

Two kinds build on it: `array_feed` knows its rows, `stream_feed` only asks for the next batch.
Neither casts, drops or repeats a row.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Placer(Protocol):
    """The part of a Program that moves rows to the devices."""

    def share(self, num_rows: int) -> slice:
        """Which rows of a batch this process feeds."""
        ...

    def place_batch(self, batch: Any, num_rows: int | None = None) -> Any:
        """One step's rows; with `num_rows`, this process' share of so many."""
        ...

    def place_stack(self, stack: Any, num_steps: int, num_rows: int | None = None) -> Any:
        """Several steps' rows; with `num_rows`, this process' share of so many a step."""
        ...

    def place_data(self, data: Any) -> Any:
        """A whole data set."""
        ...

    def place_picks(self, data: Any, rows: np.ndarray) -> Any:
        """Row numbers into a data set that was placed."""
        ...


class Agreement(Protocol):
    """Asks the other processes, where there are several."""

    def same(self, what: str, mine: Any, *, channel: str = "main") -> None:
        """Refuse to go on where they differ."""
        ...

    def order(self, *, channel: str = "main") -> None:
        """Let all draw the same random numbers next."""
        ...

    def rows(
        self, batch: Any, total: int | None, *, ended: bool = False, channel: str
    ) -> tuple[Any, int | None] | None:
        """Put the processes' own rows of the next step together; None when there are no more."""
        ...

    def even(self, batch: Any) -> Any:
        """Bring rows that do not divide to every process; on the thread that launches steps."""
        ...

    def passes(self, source: Any, *, channel: str = "main") -> None:
        """Let all read the same pass over a dataset."""
        ...

    def waiting(self, doing: str) -> AbstractContextManager[None]:
        """Note that what happens inside waits for the others."""
        ...

    def alike(self, sample: int, *, channel: str) -> None:
        """Warn where the processes make different batches, of which each uses its share."""
        ...

    def everybody(self, what: str, mine: bool) -> bool:
        """Whether it is so in every process."""
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
            self.num_rows += part.num_steps * part.spec.num_rows
            self.num_padded_rows += part.num_steps * (part.spec.padded_rows - part.spec.num_rows)


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
            context = contextvars.copy_context()  # a user's generator may look at its own
            self._waiting.append(self._pool.submit(context.run, _caught, work))

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
