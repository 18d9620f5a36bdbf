"""Processes that never outlive the one that started them.

In: a command and environments.  Out: running children, in a session each.
A warden, a tiny process of its own, holds a pipe whose other end only the launcher has. When that
closes, however the launcher died, the warden kills the children and all that they started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

from manyhands import config


class Child:
    """One process of the group."""

    def __init__(self, index: int, process: subprocess.Popen[bytes]) -> None:
        self.index = index
        self.process = process

    @property
    def code(self) -> int | None:
        """How it ended: an exit code, minus a signal, or None while it runs."""
        return self.process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it alone."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def kill(self) -> None:
        """End it and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def describe(self) -> str:
        """Say how it ended, in words."""
        code = self.code
        if code is None:
            return "is still running"
        if code < 0:
            name = signal.Signals(-code).name if -code in signal.Signals._value2member_map_ else ""
            why = " (the kernel does that when memory runs out)" if -code == signal.SIGKILL else ""
            return f"was ended by signal {-code} {name}{why}"
        return f"ended with exit code {code}"


class Nursery:
    """Starts children that end with this process."""

    def __init__(self) -> None:
        self._warden = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _WARDEN],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self, index: int, command: Sequence[str], told: dict[str, str]) -> Child:
        """Start one process."""
        process = subprocess.Popen(
            command,
            env={**config.environment(), **told},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._tell(f"+{process.pid}")
        return Child(index, process)

    def ended(self, child: Child) -> None:
        """Forget a child that has ended: its number may be another's soon."""
        self._tell(f"-{child.process.pid}")

    def _tell(self, word: str) -> None:
        assert self._warden.stdin is not None
        with contextlib.suppress(OSError):
            self._warden.stdin.write(f"{word}\n".encode())
            self._warden.stdin.flush()

    def close(self) -> None:
        """Let the warden go: children that still run end."""
        assert self._warden.stdin is not None
        with contextlib.suppress(OSError):
            self._warden.stdin.close()
        self._warden.wait()


_WARDEN = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
"""Waits until nobody writes to it any more, then kills who is left."""
