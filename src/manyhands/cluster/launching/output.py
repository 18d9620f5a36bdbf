"""What the processes say, one line at a time, with the number of who said it.

In: the pipes of several processes.  Out: prefixed, coloured lines; a file for each; the last lines
of whoever failed.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO, Any

from manyhands.errors import ClusterError, explain

_COLOURS = (36, 33, 32, 35, 34, 31)
_KEPT_LINES = 20
_NOISE = re.compile(
    rb"\[Gloo\] Rank |[EF]\d{4} [^\]]*(coordination_service|client\.h)|:UNKNOWN:Error received"
    rb"|Additional GRPC error|RPC: /xla|\*\*\* Check failure|    @ +0x|=== Source Location"
    rb"|external/xla"
)
"""What XLA prints when processes come and go, which nobody can switch off: for log files only."""


class Output:
    """Collects what the processes of one attempt say."""

    def __init__(self, screen: Any = None, log_dir: Path | None = None) -> None:
        self._screen = sys.stdout.buffer if screen is None else screen
        self._coloured = screen is None and sys.stdout.isatty()
        self._log_dir = log_dir
        self._lock = threading.Lock()
        self._tails: dict[int, deque[str]] = {}
        self._threads: list[threading.Thread] = []
        if log_dir is not None:
            _make(log_dir)

    def follow(self, index: int, pipe: IO[bytes]) -> None:
        """Read one process' words on a thread."""
        self._tails[index] = deque(maxlen=_KEPT_LINES)
        thread = threading.Thread(
            target=self._read, args=(index, pipe), name=f"manyhands-output-{index}", daemon=True
        )
        thread.start()
        self._threads.append(thread)

    def finish(self, timeout_s: float = 5.0) -> None:
        """Wait for the last words."""
        for thread in self._threads:
            thread.join(timeout_s)
        self._threads.clear()

    def last_lines(self, index: int) -> list[str]:
        """What a process said last."""
        return list(self._tails.get(index, ()))

    def _read(self, index: int, pipe: IO[bytes]) -> None:
        log = None if self._log_dir is None else _Log(self._log_dir / f"process-{index}.log")
        for line in iter(pipe.readline, b""):
            if log is not None:
                log.write(line)
            if _NOISE.match(line):
                continue
            text = line.rstrip(b"\r\n").decode(errors="replace").split("\r")[-1]
            self._tails[index].append(text.replace("\b", ""))
            self._show(index, line)
        pipe.close()
        if log is not None:
            log.close()

    def _show(self, index: int, line: bytes) -> None:
        prefix = f"[{index}] "
        if self._coloured:
            prefix = f"\x1b[{_COLOURS[index % len(_COLOURS)]}m{prefix}\x1b[0m"
        line = line if line.endswith(b"\n") else line + b"\n"
        with self._lock:
            try:
                self._screen.write(prefix.encode() + line)
                self._screen.flush()
            except (OSError, ValueError):
                pass  # nobody reads any more, or the disk is full; the processes go on


class _Log:
    """A file of one process' words; one that cannot be written is given up, and said once.

    The pipe is read on in any case: a process that nobody listens to would stop at its next word.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            self._give_up(error)

    def write(self, line: bytes) -> None:
        if self._file is not None:
            try:
                self._file.write(line)
            except OSError as error:
                self._give_up(error)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _give_up(self, error: OSError) -> None:
        self._file = None
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(
                f"manyhands: {self._path} is not written any more: {error.strerror or error}.\n"
            )


def _make(log_dir: Path) -> None:
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClusterError(
            explain(
                "The directory for what the processes say cannot be made.",
                got=f"--log-dir {log_dir}: {error.strerror or error}",
                fix="name a directory that this user may write to.",
            )
        ) from error
