"""Passes that reorder elements one by one: what `ordering` does where there are no row numbers.

In: passes over elements of any kind.  Out: the same elements, in the order their index form gives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from manyhands.data.dataset.draws import Picker
from manyhands.data.dataset.passes import Passes
from manyhands.data.dataset.stage import Rows


class Over(Rows):
    """A pass over one other pass."""

    def __init__(self, source: Rows) -> None:
        self._source = source

    def close(self) -> None:
        """Let go of what is below."""
        self._source.close()


class ShuffledRows(Over):
    """A buffer of elements, one picked at random, its place filled by the next."""

    def __init__(self, source: Rows, buffer_size: int, picker: Picker) -> None:
        super().__init__(source)
        self._size = buffer_size
        self._picker = picker
        self._buffer: list[Any] = []
        self._ended = False

    def __next__(self) -> Any:
        while not self._ended:
            try:
                row = next(self._source)
            except StopIteration:
                self._ended = True
                order = self._picker.order(len(self._buffer)).tolist()
                self._buffer = [self._buffer[place] for place in reversed(order)]
                break
            if len(self._buffer) == self._size:
                pick = self._picker.pick_one(self._size)
                chosen, self._buffer[pick] = self._buffer[pick], row
                return chosen
            self._buffer.append(row)
        if not self._buffer:
            raise StopIteration
        return self._buffer.pop()


class RepeatedRows(Rows):
    """Passes one after another; for ever when `times` is negative."""

    def __init__(
        self, again: Callable[[], Rows], times: int, *, even_if_empty: bool = False
    ) -> None:
        self._passes = Passes(
            again, times, even_if_empty=even_if_empty, let_go=lambda rows: rows.close()
        )

    def __next__(self) -> Any:
        while (rows := self._passes.open()) is not None:
            for row in rows:
                self._passes.gave(1)
                return row
            self._passes.end()
        raise StopIteration

    def next_few(self) -> list[Any]:
        """Give what the open pass gives together."""
        while (rows := self._passes.open()) is not None:
            with contextlib.suppress(StopIteration):
                few = rows.next_few()
                self._passes.gave(len(few))
                return few
            self._passes.end()
        raise StopIteration

    def skip(self, count: int) -> int:
        """Pass over, pass by pass."""
        return self._passes.skip(count)

    def close(self) -> None:
        """End the pass that is open."""
        self._passes.close()


class SlicedRows(Over):
    """Some elements: from `start`, every `step`-th, at most `count`."""

    def __init__(self, source: Rows, start: int, step: int, count: int) -> None:
        super().__init__(source)
        self._before = start
        self._step = step
        self._left = count

    def __next__(self) -> Any:
        if self._left == 0:
            raise StopIteration
        if self._before and self._source.skip(self._before) < self._before:
            raise StopIteration
        self._before = self._step - 1
        row = next(self._source)
        self._left -= self._left > 0
        return row

    def skip(self, count: int) -> int:
        """Pass over in one go where elements follow each other."""
        if self._step != 1 or self._before:
            return super().skip(count)
        done = self._source.skip(count if self._left < 0 else min(count, self._left))
        self._left -= done if self._left > 0 else 0
        return done


class ZippedRows(Rows):
    """Passes side by side, until the first ends."""

    def __init__(self, sources: list[Rows], join: Callable[[Any], Any]) -> None:
        self._sources = sources
        self._join = join

    def __next__(self) -> Any:
        return self._join([next(source) for source in self._sources])

    def skip(self, count: int) -> int:
        """Pass over in each."""
        return min(source.skip(count) for source in self._sources)

    def close(self) -> None:
        """Close each."""
        for source in self._sources:
            source.close()


class EnumeratedRows(Over):
    """Each element with its number."""

    def __init__(self, source: Rows, start: int) -> None:
        super().__init__(source)
        self._number = start

    def __next__(self) -> Any:
        row = next(self._source)
        self._number += 1
        return np.int64(self._number - 1), row

    def skip(self, count: int) -> int:
        """Pass over and count on."""
        done = self._source.skip(count)
        self._number += done
        return done
