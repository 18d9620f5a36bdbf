"""Lines of JSON over a socket.

In: messages, plain dicts.  Out: the same on the other side, whole and in order.
JSON and nothing else: a message can carry numbers and words, never code.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any

_MOST_BYTES = 16 * 2**20
_PIECE = 65536

Message = dict[str, Any]
MAIN = "main"
"""The channel of questions that a program asks by itself, not a thread beside it."""


class LineClosedError(Exception):
    """The other side has gone."""


class Line:
    """A connection that carries messages; any thread may send, one may receive."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sending = threading.Lock()
        self._unread = b""

    @property
    def own_host(self) -> str:
        """The address that this side is reached at."""
        return self._socket.getsockname()[0]

    @property
    def other_host(self) -> str:
        """The address of the other side."""
        return self._socket.getpeername()[0]

    def send(self, message: Message) -> None:
        """Send one message."""
        data = json.dumps(message).encode() + b"\n"
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise LineClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Message:
        """Wait for the next message."""
        while b"\n" not in self._unread:
            self._read(timeout_s)
        line, self._unread = self._unread.split(b"\n", 1)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LineClosedError(f"what came is not JSON: {line[:80]!r}") from error
        if not isinstance(message, dict):
            raise LineClosedError(f"what came is no message: {line[:80]!r}")
        return message

    def _read(self, timeout_s: float | None) -> None:
        try:
            self._socket.settimeout(timeout_s)
            piece = self._socket.recv(_PIECE)
            self._socket.settimeout(None)
        except TimeoutError:
            raise
        except OSError as error:
            raise LineClosedError(str(error)) from error
        if not piece:
            raise LineClosedError("the connection was closed")
        self._unread += piece
        if len(self._unread) > _MOST_BYTES:
            raise LineClosedError(f"a message of more than {_MOST_BYTES} bytes came")

    def close(self) -> None:
        """Hang up, and wake whoever waits."""
        for end in (lambda: self._socket.shutdown(socket.SHUT_RDWR), self._socket.close):
            with contextlib.suppress(OSError):
                end()
