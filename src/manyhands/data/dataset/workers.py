"""Call a function on Grain's worker threads, results in order.

In: a way to read the next piece of work, and what to do with one.  Out: the results, in the order
the work was read.  Grain asks for pieces by number from several threads; each waits for its turn to
read and then works beside the others.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_PIECE_S = 1e-3
"""About how long a piece of work lasts: shorter ones are handed over several at a time."""


class Workers:
    """Results of work done on threads."""

    def __init__(
        self,
        read: Callable[[], Any],
        work: Callable[[Any], Any],
        num_threads: int,
        seconds: float,
    ) -> None:
        import grain

        size = max(1, min(64, int(_PIECE_S / max(seconds, 1e-6))))
        pieces: Any = _Pieces(read, work, size)
        options = grain.ReadOptions(num_threads, 2 * num_threads)
        self._results: Any = iter(grain.MapDataset.source(pieces).to_iter_dataset(options))
        self._pieces = pieces
        self._ready: Iterator[Any] = iter(())
        self._closed = False

    def __next__(self) -> Any:
        for out in self._ready:
            if isinstance(out, _Raised):
                self.close()
                raise out.error
            return out
        piece = [] if self._closed else next(self._results)
        if not piece:
            self.close()
            raise StopIteration
        self._ready = iter(piece)
        return next(self)

    def close(self) -> None:
        """End the threads."""
        self._closed = True
        self._pieces.stop()
        self._results.close()
        self._ready = iter(())


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Pieces:
    """Work by number, as Grain wants its sources: read in turn, done side by side."""

    def __init__(self, read: Callable[[], Any], work: Callable[[Any], Any], size: int) -> None:
        self._read = read
        self._work = work
        self._size = size
        self._turn = 0
        self._ended = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return sys.maxsize

    def __repr__(self) -> str:  # Grain prints its sources
        return "manyhands rows"

    def __getitem__(self, number: int) -> list[Any]:
        with self._changed:
            self._changed.wait_for(lambda: self._turn == number or self._ended)
            rows = [] if self._ended else self._read_some()
            self._turn += 1
            self._changed.notify_all()
        return [row if isinstance(row, _Raised) else self._try(row) for row in rows]

    def stop(self) -> None:
        """Read no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_some(self) -> list[Any]:
        rows: list[Any] = []
        try:
            while len(rows) < self._size:
                rows.append(self._read())
        except StopIteration:
            self._ended = True
        except Exception as error:  # raised again where the result is asked for
            self._ended = True
            rows.append(_Raised(error))
        return rows

    def _try(self, row: Any) -> Any:
        try:
            return self._work(row)
        except Exception as error:  # raised again where the result is asked for
            return _Raised(error)
