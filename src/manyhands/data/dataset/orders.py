"""Orders: a pass over rows as row numbers, before any row is touched.

In: how many rows, and what is done to their order.  Out: blocks of row numbers, one line a row and
one column for each thing that is looked up by it.  Pure index arithmetic, so skipping is cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from manyhands.data.dataset.draws import Picker
from manyhands.data.dataset.passes import Passes

_BLOCK = 8192


class Order(Protocol):
    """One pass."""

    def take(self, count: int) -> np.ndarray:
        """Give the next lines; fewer only at the end."""
        ...

    def skip(self, count: int) -> int:
        """Pass over lines; give how many there were."""
        ...


class Straight:
    """Rows 0, 1, 2, … of so many."""

    def __init__(self, num_rows: int) -> None:
        self._num_rows = num_rows
        self._at = 0

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        start = self._at
        self._at = min(start + count, self._num_rows)
        return np.arange(start, self._at)[:, None]

    def skip(self, count: int) -> int:
        """Pass over."""
        start = self._at
        self._at = min(start + count, self._num_rows)
        return self._at - start


class Fixed:
    """Lines that were drawn before."""

    def __init__(self, lines: np.ndarray) -> None:
        self._lines = lines

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        now, self._lines = self._lines[:count], self._lines[count:]
        return now

    def skip(self, count: int) -> int:
        """Pass over."""
        return len(self.take(count))


class Shuffled:
    """A buffer of lines, one picked at random, its place filled by the next: tf.data's shuffle."""

    def __init__(self, source: Order, buffer_size: int, picker: Picker) -> None:
        self._source = source
        self._size = buffer_size
        self._picker = picker
        self._buffer: np.ndarray | None = None
        self._ready: np.ndarray | None = None
        self._ended = False

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        parts, got = [], 0
        while got < count or not parts:
            if self._ready is None or not len(self._ready):
                self._ready = self._more()
            part, self._ready = self._ready[: count - got], self._ready[count - got :]
            parts.append(part)
            got += len(part)
            if not len(part):
                break
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def skip(self, count: int) -> int:
        """Pass over: the picks have to be made, the rows need not be read."""
        return len(self.take(count))

    def _more(self) -> np.ndarray:
        if self._buffer is None:
            self._buffer = self._source.take(self._size)
            self._ended = len(self._buffer) < self._size
        if not self._ended:
            wanted = max(_BLOCK, self._size)
            incoming = self._source.take(wanted)
            self._ended = len(incoming) < wanted
            if len(incoming):
                return self._exchange(incoming)
        return self._drain()

    def _exchange(self, incoming: np.ndarray) -> np.ndarray:
        assert self._buffer is not None
        held = list(range(len(self._buffer)))
        out = []
        picks = self._picker.pick(self._size, len(incoming))
        for new, pick in enumerate(picks, len(held)):
            out.append(held[pick])
            held[pick] = new
        known = np.concatenate([self._buffer, incoming])
        self._buffer = known[held]
        return known[out]

    def _drain(self) -> np.ndarray:
        assert self._buffer is not None
        lines, self._buffer = self._buffer, self._buffer[:0]
        return lines[self._picker.order(len(lines))]


class Repeated:
    """Passes one after another; forever when `times` is negative."""

    def __init__(self, again: Callable[[], Order], times: int, width: int) -> None:
        self._passes = Passes(again, times)
        self._width = width

    def take(self, count: int) -> np.ndarray:
        """Next lines, over as many passes as it needs."""
        parts: list[np.ndarray] = []
        got = 0
        while got < count and (order := self._passes.open()) is not None:
            part = order.take(count - got)
            parts.append(part)
            got += len(part)
            self._passes.gave(len(part))
            if got < count:
                self._passes.end()
        if not parts:
            return np.empty((0, self._width), np.int64)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def skip(self, count: int) -> int:
        """Pass over, pass by pass."""
        return self._passes.skip(count)


class Sliced:
    """Some lines of another order: after `start`, every `step`-th, at most `count`."""

    def __init__(self, source: Order, start: int, step: int, count: int) -> None:
        self._source = source
        self._start = start
        self._step = step
        self._left = count
        """Negative: all."""

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        self._skip_start()
        count = count if self._left < 0 else min(count, self._left)
        if self._step == 1:
            lines = self._source.take(count)
        else:
            lines = self._source.take(count * self._step)[:: self._step]
        self._left -= len(lines) if self._left > 0 else 0
        return lines

    def skip(self, count: int) -> int:
        """Pass over."""
        if self._step != 1:
            return len(self.take(count))
        self._skip_start()
        count = count if self._left < 0 else min(count, self._left)
        done = self._source.skip(count)
        self._left -= done if self._left > 0 else 0
        return done

    def _skip_start(self) -> None:
        if self._start:
            self._source.skip(self._start)
            self._start = 0


class Sieved:
    """The lines of another order that are kept, asked about in blocks."""

    def __init__(
        self, source: Order, keeps: Callable[[np.ndarray], np.ndarray], block: int
    ) -> None:
        self._source = source
        self._keeps = keeps
        self._block = block
        self._ready: np.ndarray | None = None

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        while self._ready is None or len(self._ready) < count:
            lines = self._source.take(self._block)
            kept = lines[self._keeps(lines)] if len(lines) else lines
            self._ready = kept if self._ready is None else np.concatenate([self._ready, kept])
            if not len(lines):
                break
        now, self._ready = self._ready[:count], self._ready[count:]
        return now

    def skip(self, count: int) -> int:
        """Pass over: which are kept has to be asked all the same."""
        return len(self.take(count))


class Numbered:
    """Another order with columns put before it: fixed numbers, then the position."""

    def __init__(self, source: Order, *fixed: int) -> None:
        self._source = source
        self._fixed = fixed
        self._at = 0

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        lines = self._source.take(count)
        columns = np.empty((len(lines), len(self._fixed) + 1), np.int64)
        columns[:, :-1] = self._fixed
        columns[:, -1] = np.arange(self._at, self._at + len(lines))
        self._at += len(lines)
        return np.concatenate([columns, lines], axis=1)

    def skip(self, count: int) -> int:
        """Pass over."""
        done = self._source.skip(count)
        self._at += done
        return done


class Zipped:
    """Orders side by side, until the first ends."""

    def __init__(self, sources: list[Order]) -> None:
        self._sources = sources

    def take(self, count: int) -> np.ndarray:
        """Next lines."""
        parts = [source.take(count) for source in self._sources]
        shortest = min(len(part) for part in parts)
        return np.concatenate([part[:shortest] for part in parts], axis=1)

    def skip(self, count: int) -> int:
        """Pass over."""
        return min(source.skip(count) for source in self._sources)
