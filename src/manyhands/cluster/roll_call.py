"""Who has come: process 0 lets the others in until everybody is there.

In: a listening socket and the members that are expected.  Out: Guests, numbered from 0, all at
once; a refusal, with the reason, to whoever does not belong.
A guest that goes before it began may come again.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from manyhands.cluster.membership import Member
from manyhands.cluster.wire import Line, LineClosedError, Message

_HELLO_S = 10.0
_MOST_STRANGERS = 256
"""So many may be silent at a time; then the first of them has to go."""
_AGAIN_S = 0.05
_MOST_REFUSALS = 20


@dataclass(eq=False)
class Guest:
    """One process that has arrived."""

    line: Line
    index: int
    """Its number among those who train: less than it expected, where some stayed away."""
    heard_s: float = field(default_factory=time.monotonic)
    said_bye: bool = False
    where: Message = field(default_factory=dict)

    def tell(self, message: Message) -> None:
        """Send it a message; if it has gone, the thread that listens to it will notice."""
        with contextlib.suppress(LineClosedError):
            self.line.send(message)


class RollCall:
    """Lets guests in.

    Args:
        least: so many are enough, when the rest has been waited for long enough.
        begin: told once who is there: their expected numbers, and the guests.
        listen: hears a guest until its line ends; called on a thread for each.
    """

    def __init__(
        self,
        server: socket.socket,
        members: tuple[Member, ...],
        *,
        token: str,
        least: int,
        begin: Callable[[list[int], list[Guest]], None],
        listen: Callable[[Guest], None],
    ) -> None:
        self._server = server
        self._members = members
        self._token = token
        self._least = least
        self._begin = begin
        self._listen = listen
        self._here: dict[int, Guest] = {}
        self._strangers: deque[socket.socket] = deque()
        self.refusals: list[str] = []
        """Who came and was refused, with the reason."""
        self._lock = threading.Lock()
        self._begun = self._closed = False
        threading.Thread(target=self._accept, name="manyhands-hub", daemon=True).start()

    def missing(self) -> list[int]:
        """Who has not arrived yet."""
        with self._lock:
            return [index for index in range(len(self._members)) if index not in self._here]

    def begin_with_fewer(self) -> bool:
        """Begin with those who are here, if they are enough."""
        with self._lock:
            if self._begun or len(self._here) < self._least:
                return False
            self._begun = True
        self._start()
        return True

    def give_up(self, reason: str) -> None:
        """Tell those who have arrived that it will not begin."""
        for guest in list(self._here.values()):
            guest.tell({"kind": "refused", "reason": reason})
            guest.line.close()
        self.close()

    def close(self) -> None:
        """Let nobody in any more."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._server.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._server.accept()
                self._let_in(connection)
            except (OSError, RuntimeError):  # also: no more files, or no more threads, for now
                if self._closed or self._server.fileno() < 0:
                    return
                time.sleep(_AGAIN_S)

    def _let_in(self, connection: socket.socket) -> None:
        """Hear who it is, on a thread; who says nothing gives way to who comes later."""
        self._strangers.append(connection)
        if len(self._strangers) > _MOST_STRANGERS:
            _hang_up(self._strangers.popleft())
        try:
            threading.Thread(
                target=self._meet, args=(connection,), name="manyhands-guest", daemon=True
            ).start()
        except RuntimeError:
            _hang_up(connection)
            raise

    def _meet(self, connection: socket.socket) -> None:
        try:
            line = Line(connection, stranger=True)
            hello = line.receive(_HELLO_S)
        except (LineClosedError, TimeoutError, OSError):
            _hang_up(connection)
            return
        finally:
            with contextlib.suppress(ValueError, IndexError):  # the thread that accepts was first
                self._strangers.remove(connection)
        self._admit(line, hello)

    def _admit(self, line: Line, hello: Message) -> None:
        guest = Guest(line, hello.get("index", -1))
        with self._lock:
            refused = self._refused(hello)
            if not refused:
                self._here[guest.index] = guest
            complete = not self._begun and len(self._here) == len(self._members)
            self._begun = self._begun or complete
        if refused:
            self.refusals.append(f"{line.other_host}: {refused}")
            del self.refusals[:-_MOST_REFUSALS]
            guest.tell({"kind": "refused", "reason": refused})
            line.close()
            return
        line.trust()
        if complete:
            self._start()
        self._listen(guest)
        with self._lock:
            if not self._begun:
                del self._here[guest.index]
                line.close()

    def _start(self) -> None:
        present = sorted(self._here)
        guests = [self._here[index] for index in present]
        for number, guest in enumerate(guests):
            guest.index = number
        self._begin(present, guests)

    def _refused(self, hello: Message) -> str:
        if not hmac.compare_digest(_bytes(hello.get("token", "")), _bytes(self._token)):
            return "its MANYHANDS_TOKEN is not process 0's"
        index, size = hello.get("index"), hello.get("size")
        if type(size) is not int or size != len(self._members):
            return f"it counts {_shown(size)} processes and process 0 counts {len(self._members)}"
        if type(index) is not int or not 0 <= index < len(self._members):
            return f"it calls itself process {_shown(index)}"
        if index in self._here:
            return f"process {index} has arrived already; two processes have the same task"
        if self._begun:
            return "it came too late: the others have begun without it"
        return ""


def _bytes(token: object) -> bytes:
    """Give the bytes of a token, also of one that is no valid text."""
    return str(token).encode("utf-8", "surrogatepass")


def _shown(said: object) -> str:
    return ascii(said)[:40]


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)  # wakes the thread that hears it
    connection.close()
