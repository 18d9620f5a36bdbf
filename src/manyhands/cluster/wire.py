"""Lines of JSON over a socket.

In: messages, plain dicts.  Out: the same on the other side, whole and in order.
JSON and nothing else: a message can carry numbers and words, never code.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from typing import Any

MOST_BYTES = 256 * 2**20
"""So long a message may be."""
_STRANGERS_BYTES = 2**16
"""So long it may be of somebody who has not said yet who it is."""
_PIECE = 2**18

Message = dict[str, Any]
MAIN = "main"
"""The channel of questions that a program asks by itself, not a thread beside it."""


class LineClosedError(Exception):
    """The other side has gone."""


class TooLongError(Exception):
    """A message is longer than the other side would take."""


class Line:
    """A connection that carries messages; any thread may send, one may receive.

    What a `stranger` says is cut off early, until it is trusted.
    """

    def __init__(self, connection: socket.socket, *, stranger: bool = False) -> None:
        self._socket = connection
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sending = threading.Lock()
        self._most_bytes = _STRANGERS_BYTES if stranger else MOST_BYTES
        self._unread = bytearray()

    def trust(self) -> None:
        """Take long messages from now on: the other side has said who it is."""
        self._most_bytes = MOST_BYTES

    @property
    def own_host(self) -> str:
        """The address that this side is reached at."""
        return self._socket.getsockname()[0]

    @property
    def other_host(self) -> str:
        """The address of the other side."""
        try:
            return self._socket.getpeername()[0]
        except OSError:
            return "somebody who has gone"

    def send(self, message: Message, *, most_bytes: int = MOST_BYTES) -> None:
        """Send one message; TooLongError if the other side would not take it."""
        data = json.dumps(message).encode() + b"\n"
        if len(data) > most_bytes:
            raise TooLongError(f"{len(data)} bytes, and {most_bytes} is the most")
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise LineClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Message:
        """Wait for the next message."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        looked_at = 0
        while (end := self._unread.find(b"\n", looked_at)) < 0:
            looked_at = len(self._unread)
            self._read(None if until_s is None else max(0.001, until_s - time.monotonic()))
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
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
        if len(self._unread) - len(piece) > self._most_bytes:
            raise LineClosedError(f"a message of more than {self._most_bytes} bytes came")

    def close(self) -> None:
        """Hang up, and wake whoever waits."""
        for end in (lambda: self._socket.shutdown(socket.SHUT_RDWR), self._socket.close):
            with contextlib.suppress(OSError):
                end()
