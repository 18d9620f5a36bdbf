"""Prefetch: read ahead on a thread.

In: a pass and how far ahead to read.  Out: the same elements, in order; an error where the element
would have been.  The thread ends with the pass: when it is exhausted, closed or forgotten.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.stage import IndexPlan, Rows, Stage

_PATIENCE_S = 5.0
DEPTH = 4
"""Elements read ahead where the user leaves the number to us."""


@dataclass(eq=False)
class Prefetch(Stage):
    """So many elements read ahead."""

    parent: Stage
    depth: int

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"prefetch({self.depth if self.depth >= 0 else ''})"

    @property
    def way(self) -> str:
        """How it runs."""
        return "index" if self.plan is not None else "a thread that reads ahead"

    def _plan(self) -> IndexPlan | None:
        return self.parent.plan  # in the middle of index arithmetic there is nothing to wait for

    def _rows(self, run: Run) -> Rows:
        rows = self.parent.rows(run)
        return AheadRows(rows, DEPTH if self.depth < 0 else self.depth) if self.depth else rows


class AheadRows(Rows):
    """A pass read by a thread."""

    def __init__(self, source: Rows, depth: int) -> None:
        self._source = source
        self._shared = _Shared(depth)
        self._thread: threading.Thread | None = None
        self._ready: Iterator[Any] = iter(())
        self._forget: Callable[[], Any] | None = None

    def __next__(self) -> Any:
        for row in self._ready:
            return row
        if self._thread is None:
            self._start()
        kind, value = self._shared.get()
        if kind == "rows":
            self._ready = iter(value)
            return next(self._ready)
        self.close()
        if kind == "error":
            raise value
        raise StopIteration

    def _start(self) -> None:
        args = (self._source, self._shared)
        self._thread = threading.Thread(
            target=_read, args=args, name="manyhands-prefetch", daemon=True
        )
        self._forget = weakref.finalize(self, _end, self._shared, self._thread)
        self._thread.start()

    def skip(self, count: int) -> int:
        """Pass over below, while the thread has not started."""
        return super().skip(count) if self._thread is not None else self._source.skip(count)

    def close(self) -> None:
        """End the thread; a source that never answers is left to it."""
        if self._thread is None or _end(self._shared, self._thread):
            self._source.close()


class _Shared:
    """What a reader and a taker share."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._ready: deque[tuple[str, Any]] = deque()
        self._stopped = False
        self._changed = threading.Condition(threading.Lock())

    def put(self, item: tuple[str, Any]) -> bool:
        """Add one, when there is room; False when nobody wants more."""
        with self._changed:
            while len(self._ready) >= self._depth and not self._stopped:
                self._changed.wait()
            self._ready.append(item)
            if len(self._ready) == 1:
                self._changed.notify()
            return not self._stopped

    def get(self) -> tuple[str, Any]:
        """Take one, when there is one."""
        with self._changed:
            while not self._ready:
                if self._stopped:
                    return "end", None
                self._changed.wait()
            item = self._ready.popleft()
            if len(self._ready) <= self._depth // 2:
                self._changed.notify()
            return item

    def stop(self) -> None:
        """Want no more."""
        with self._changed:
            self._stopped = True
            self._ready.clear()
            self._changed.notify_all()


def _end(shared: _Shared, thread: threading.Thread) -> bool:
    """Stop a reader and wait for the element it is at; also done when the program ends."""
    shared.stop()
    if thread is not threading.current_thread():
        thread.join(_PATIENCE_S)
    return not thread.is_alive()


def _read(source: Rows, shared: _Shared) -> None:
    while True:
        try:
            item = ("rows", source.next_few())
        except StopIteration:
            item = ("end", None)
        except BaseException as error:  # raised again where the element is asked for
            item = ("error", error)
        if not shared.put(item) or item[0] != "rows":
            return
