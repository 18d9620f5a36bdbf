"""Processes that never outlive the one that started them.

In: a command and environments.  Out: running children, in a session each.
Two safeguards: Linux kills a child whose parent has died, and the child itself watches a pipe whose
other end only the launcher holds, and takes its own children along.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from manyhands import config
from manyhands.cluster.launching.plan import LAUNCHER_PIPE

_PR_SET_PDEATHSIG = 1


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
        self._read, self._write = os.pipe()
        os.set_inheritable(self._read, True)

    def start(self, index: int, command: Sequence[str], told: dict[str, str]) -> Child:
        """Start one process."""
        environment = {**config.environment(), **told, LAUNCHER_PIPE: str(self._read)}
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(self._read,),
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
        return Child(index, process)

    def close(self) -> None:
        """Let go of the pipe: children that still run end."""
        for end in (self._read, self._write):
            with contextlib.suppress(OSError):
                os.close(end)


_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def watch_launcher(environ: dict[str, str] | None = None) -> None:
    """In a child: end this process and those it started when the launcher is gone."""
    found = (config.environment() if environ is None else environ).get(LAUNCHER_PIPE, "")
    if not found.isdigit():
        return
    pipe = int(found)

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(pipe, 1):
                pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="manyhands-launcher-watch", daemon=True).start()
