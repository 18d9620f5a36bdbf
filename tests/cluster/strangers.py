"""Strangers: whoever comes to the ports of a group as soon as they open, and says something."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import threading

import psutil

_chosen = random.Random(5)
WORDS: dict[str, bytes | None] = {
    "random bytes": _chosen.randbytes(4000),
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "half a frame": b"\x10\x00\x00",
    "half a message": b'{"kind": "hello", "ind',
    "silence": b"",
    "a huge length": b"\xff" * 8,
    "a huge message": b"x" * 300_000,
    "small numbers": b"".join(number.to_bytes(8, "little") for number in range(4)),
    "zeros": bytes(64),
    "a token that is no text": b'{"kind":"hello","index":1,"size":2,"token":"\\ud800"}\n',
    "bytes that do not decode": b'{"kind": "hello", "token": "\xff\xfe"}\n',
    "JSON of another shape": b"[1, 2]\n",
    "a hello of other types": json.dumps(
        {"kind": "hello", "index": {"a": [1]}, "size": True, "token": ["x"]}
    ).encode()
    + b"\n",
    "a goodbye": None,
}
"""What they say; None: they hang up at once."""


class Strangers(threading.Thread):
    """Comes to every port that the processes below one of ours listen at, until it is stopped.

    Args:
        exact: come to the very address; else to that port of 127.0.0.1, as who tries all ports.
        most: how many ports to come to.
    """

    def __init__(self, pid: int, *, words: list[str], exact: bool, most: int = 8) -> None:
        super().__init__(daemon=True)
        self._root, self._words, self._exact = psutil.Process(pid), words, exact
        self._most = most
        self._done = threading.Event()
        self._held: list[socket.socket] = []
        self.visited: list[str] = []

    def run(self) -> None:
        seen = set()
        while not self._done.is_set() and len(seen) < self._most:
            for address in self._doors() - seen:
                seen.add(address)
                self._visit(*address)

    def stop(self) -> None:
        """Go away, and close every connection."""
        self._done.set()
        self.join(20)
        for connection in self._held:
            connection.close()

    def _doors(self) -> set[tuple[str, int]]:
        found = set()
        with contextlib.suppress(psutil.Error):
            for process in self._root.children(recursive=True):
                with contextlib.suppress(psutil.Error, OSError):
                    for one in process.net_connections("tcp"):
                        if one.status == psutil.CONN_LISTEN:
                            found.add((one.laddr.ip, one.laddr.port))
        return found

    def _visit(self, host: str, port: int) -> None:
        host = host.removeprefix("::ffff:") if self._exact else "127.0.0.1"
        for word in self._words:
            with contextlib.suppress(OSError):
                connection = socket.create_connection((host, port), timeout=1)
                self._held.append(connection)
                said = WORDS[word]
                if said is None:
                    connection.close()
                else:
                    connection.sendall(said)
                self.visited.append(f"{os.path.basename(host)}:{port} {word}")
