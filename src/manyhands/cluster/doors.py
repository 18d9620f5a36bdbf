"""Where this process can be reached, and who is connected to it.

In: what Linux says of this process' TCP sockets.  Out: Sockets.  Elsewhere: none.
Looks only: it opens and closes nothing.
"""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

_LISTEN, _MADE = "0A", "01"
_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")


@dataclass(frozen=True, slots=True)
class Sockets:
    """The addresses, host:port, that this process has."""

    doors: frozenset[str]
    """Where it listens."""
    ends: frozenset[tuple[str, str]]
    """Its connections: its own end, and the other."""

    def visitors(self, doors: frozenset[str]) -> list[str]:
        """The other ends of the connections that came in through these doors."""
        return sorted(other for own, other in self.ends if own in doors)


def sockets() -> Sockets:
    """Look at the sockets of this process."""
    own = _own_inodes()
    rows = [row for table in _TABLES for row in _rows(table) if row[9] in own]
    return Sockets(
        frozenset(_address(row[1]) for row in rows if row[3] == _LISTEN),
        frozenset((_address(row[1]), _address(row[2])) for row in rows if row[3] == _MADE),
    )


def _own_inodes() -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # it may be closed meanwhile
                found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {link[8:-1] for link in found if link.startswith("socket:[")}


def _rows(table: str) -> list[list[str]]:
    try:
        return [line.split() for line in Path(table).read_text().splitlines()[1:]]
    except OSError:
        return []


def _address(text: str) -> str:
    """Read what Linux writes as 0100007F:1F90."""
    host, _, port = text.partition(":")
    words = [bytes.fromhex(host[i : i + 8])[::-1] for i in range(0, len(host), 8)]
    raw = b"".join(words)
    if len(raw) == 16 and raw.startswith(bytes(10) + b"\xff\xff"):
        raw = raw[12:]
    shown = socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
    return f"{shown}:{int(port, 16)}"
