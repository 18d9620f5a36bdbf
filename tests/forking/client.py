"""Ask a server for a program; what comes back is used as a subprocess.Popen.

In: a command of Python's, an environment.  Out: a Forked, with its pipes and how it ended.
Two servers take turns: Python orders the texts of a set by a number that is drawn at its start, and
two processes of a group must not have the same by chance.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
_UNCHANGED = ("PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")


def can_fork(command: Sequence[str], env: dict[str, str]) -> bool:
    """Whether a forked program finds what a fresh one would."""
    if sys.platform != "linux" or "cuda" in os.environ.get("JAX_PLATFORMS", ""):
        return False
    if command[0].startswith("-") and command[0] not in ("-c", "-m"):
        return False
    told = {name for name in env if name.startswith("PYTHON")} - set(_UNCHANGED)
    return all(env[name] == os.environ.get(name) for name in told)


class _Server:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "KERAS_"))}
        paths = os.pathsep.join(map(str, (ROOT / "tests" / "lean", ROOT)))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.forking.server", str(theirs.fileno())],
            env=kept | {"PYTHONPATH": paths},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.requests = ours

    def send(self, request: dict[str, Any], files: list[int]) -> None:
        text = json.dumps(request).encode()
        socket.send_fds(self.requests, [f"{len(text):8d}".encode()], files)
        self.requests.sendall(text)


_servers: list[_Server] = []


@atexit.register
def _close() -> None:
    for server in _servers:
        server.requests.close()
        server.process.wait(10)


_turns = itertools.count()


def _next_server() -> _Server:
    turn = next(_turns) % 2
    while len(_servers) <= turn:
        _servers.append(_Server())
    return _servers[turn]


def start(
    command: Sequence[str], *, env: dict[str, str], cwd: str | Path | None = None, text: str = ""
) -> Forked:
    """Start `python` with a command; it reads `text`, and what it says is kept in pipes."""
    return Forked(list(map(str, command)), env, str(cwd or os.getcwd()), text)


class Forked:
    """A program that runs, as subprocess.Popen has it."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: str, text: str) -> None:
        self.args = command
        self.returncode: int | None = None
        out, theirs_out = os.pipe()
        err, theirs_err = os.pipe()
        self._status, theirs = os.pipe()
        source, theirs_in = os.pipe()
        files = [source, theirs_out, theirs_err, theirs]
        _next_server().send({"command": command, "env": env, "cwd": cwd}, files)
        for file in files:
            os.close(file)
        with os.fdopen(theirs_in, "wb") as pipe:
            pipe.write(text.encode())  # a pipe holds 64 KB
        self.stdout: IO[str] = os.fdopen(out)
        self.stderr: IO[str] = os.fdopen(err)
        self.pid = int(self._line())

    def _line(self) -> bytes:
        found = b""
        while not found.endswith(b"\n"):
            part = os.read(self._status, 1)
            assert part, "the server of forked programs has ended"
            found += part
        return found

    def poll(self) -> int | None:
        """How it ended, or None while it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._line())
            os.close(self._status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if self.returncode is None:
            ready = select.select([self._status], [], [], timeout)[0]
            if not ready:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(9)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read all it says and wait for its end."""
        until = None if timeout is None else time.monotonic() + timeout
        said: dict[int, bytes] = {self.stdout.fileno(): b"", self.stderr.fileno(): b""}
        reading = list(said)
        while reading:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready = select.select(reading, [], [], left)[0]
            if not ready:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            for file in ready:
                part = os.read(file, 65536)
                said[file] += part
                if not part:
                    reading.remove(file)
        self.wait(None if until is None else max(1.0, until - time.monotonic()))
        out, err = (part.decode() for part in said.values())
        self.stdout.close()
        self.stderr.close()
        return out, err
