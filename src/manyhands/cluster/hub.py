"""The meeting point of a group, on a thread of process 0.

In: one line from each process.  Out: a roll call, everybody's answers to a question, and word of
whoever is lost.
Knows nothing of JAX: it is there before JAX connects, and when JAX no longer answers.
"""

from __future__ import annotations

import contextlib
import hmac
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from manyhands.cluster.hang import held_up_by, report
from manyhands.cluster.membership import Member
from manyhands.cluster.wire import Line, LineClosedError, Message

_HELLO_S = 10.0
_REPORT_S = 2.0


@dataclass
class Guest:
    """One process that has arrived."""

    line: Line
    heard_s: float
    said_bye: bool = False
    where: Message = field(default_factory=dict)


@dataclass
class Question:
    """One thing that everybody is asked."""

    name: str
    answers: dict[int, Any] = field(default_factory=dict)


class Hub:
    """Brings the processes of a group together.

    Args:
        server: the socket that others connect to.
        welcome: gives what everybody is told once all are there.
        silence_s: after so long without a word a process is taken for lost.
        limit_s: after so long a wait for a process, it is taken for stuck.
    """

    def __init__(
        self,
        server: socket.socket,
        members: tuple[Member, ...],
        *,
        token: str,
        welcome: Callable[[], Message],
        silence_s: float,
        limit_s: float = 300.0,
    ) -> None:
        self._server = server
        self._members = members
        self._token = token
        self._welcome = welcome
        self._silence_s = silence_s
        self._limit_s = limit_s
        self._guests: dict[int, Guest] = {}
        self._questions: dict[str, Question] = {}
        self._reports: dict[int, Message] = {}
        self._claims: dict[str, int] = {}
        self._steps: dict[int, int] = {}
        self._changed = threading.Condition()
        self._over = False
        for task in (self._accept, self._watch):
            threading.Thread(target=task, name="manyhands-hub", daemon=True).start()

    # arriving

    def missing(self) -> list[int]:
        """Who has not arrived yet."""
        with self._changed:
            return [i for i in range(len(self._members)) if i not in self._guests]

    def give_up(self, reason: str) -> None:
        """Tell those who have arrived that it will not begin."""
        self._tell_all({"kind": "refused", "reason": reason})
        self._close()

    def _accept(self) -> None:
        while not self._over:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(
                target=self._meet, args=(Line(connection),), name="manyhands-guest", daemon=True
            ).start()

    def _meet(self, line: Line) -> None:
        try:
            hello = line.receive(_HELLO_S)
        except (LineClosedError, TimeoutError):
            line.close()
            return
        refused = self._refused(hello)
        if refused:
            self._try(line, {"kind": "refused", "reason": refused})
            line.close()
            return
        index = hello["index"]
        with self._changed:
            self._guests[index] = Guest(line, time.monotonic())
            complete = len(self._guests) == len(self._members)
        if complete:
            self._tell_all({"kind": "welcome", **self._welcome()})
        self._listen(index, line)

    def _refused(self, hello: Message) -> str:
        if not hmac.compare_digest(str(hello.get("token", "")), self._token):
            return "its MANYHANDS_TOKEN is not process 0's"
        index, size = hello.get("index"), hello.get("size")
        if size != len(self._members):
            return f"it counts {size} processes and process 0 counts {len(self._members)}"
        if not isinstance(index, int) or not 0 <= index < len(self._members):
            return f"it calls itself process {index}"
        if index in self._guests:
            return f"process {index} has arrived already; two processes have the same task"
        return ""

    # talking

    def _listen(self, index: int, line: Line) -> None:
        guest = self._guests[index]
        try:
            while not self._over:
                message = line.receive()
                guest.heard_s = time.monotonic()
                self._take(index, guest, message)
        except LineClosedError as error:
            if not guest.said_bye and not self._over:
                self._lose(index, f"its connection ended ({error}): it was killed or has crashed")

    def _take(self, index: int, guest: Guest, message: Message) -> None:
        kind = message.get("kind")
        if kind == "answer":
            self._answer(index, message)
        elif kind == "beat":
            guest.where = message
            self._try(guest.line, {"kind": "beat"})
        elif kind == "report":
            with self._changed:
                self._reports[index] = message
                self._changed.notify_all()
        elif kind == "claim":
            owner = self._claims.setdefault(message["key"], index)
            self._try(guest.line, {"kind": "claimed", "key": message["key"], "owner": owner})
        elif kind == "stop":
            self._tell_all({"kind": "stop?"})
        elif kind == "stop_at":
            self._stopping(index, message["step"])
        elif kind == "bye":
            guest.said_bye = True
            if message.get("error"):
                self._lose(index, f"its program ended with {message['error']}")
            with self._changed:
                self._changed.notify_all()

    def _answer(self, index: int, message: Message) -> None:
        number, name = message["number"], message["name"]
        with self._changed:
            question = self._questions.setdefault(number, Question(name))
            astray = name != question.name
            question.answers[index] = message["value"]
            complete = len(question.answers) == len(self._members)
            if complete:
                del self._questions[number]
        if astray:
            others = ", ".join(str(self._members[i]) for i in question.answers if i != index)
            self._end(
                f"The processes are not doing the same: {self._members[index]} has come to {name}, "
                f"while {others} came to {question.name}."
            )
        elif complete:
            values = [question.answers[i] for i in range(len(self._members))]
            self._tell_all({"kind": "answers", "number": number, "values": values})

    def _stopping(self, index: int, step: int) -> None:
        """Choose the step after which all stop: the first that nobody has passed."""
        with self._changed:
            self._steps[index] = step
            complete = len(self._steps) == len(self._members)
            last = max(self._steps.values()) + 1
            if complete:
                self._steps.clear()
        if complete:
            self._tell_all({"kind": "stop!", "step": last})

    def unanswered(self, number: str) -> list[int]:
        """Who has not answered a question."""
        with self._changed:
            answers = self._questions[number].answers if number in self._questions else {}
            return [i for i in range(len(self._members)) if i not in answers]

    # watching

    def _watch(self) -> None:
        while not self._over:
            time.sleep(min(1.0, self._silence_s / 4))
            silent_since = time.monotonic() - self._silence_s
            present = {i: g for i, g in list(self._guests.items()) if not g.said_bye}
            for index, guest in present.items():
                if guest.heard_s < silent_since:
                    self._explain(present)
                    self._lose(
                        index,
                        f"nothing was heard of it for {self._silence_s:.0f} s: its machine is cut "
                        "off, or it is stuck",
                    )
            late = held_up_by({i: guest.where for i, guest in present.items()}, self._limit_s)
            if late:
                self._explain(present)
                names = ", ".join(str(self._members[index]) for index in late)
                self._end(
                    f"The others have waited {self._limit_s:.0f} s for {names}.", lost=late[0]
                )

    def _explain(self, present: dict[int, Guest]) -> None:
        """Gather what every process is doing, and print it."""
        with self._changed:
            self._reports.clear()
        self._tell_all({"kind": "stacks"})
        with self._changed:
            self._changed.wait_for(lambda: self._reports.keys() >= present.keys(), _REPORT_S)
            stacks = {index: told["stacks"] for index, told in self._reports.items()}
        said = {index: guest.where for index, guest in present.items()}
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(report(self._members, said, stacks))
            sys.stderr.flush()

    def _lose(self, index: int, how: str) -> None:
        self._end(f"{self._members[index]} was lost: {how}.", lost=index)

    def _end(self, reason: str, lost: int | None = None) -> None:
        with self._changed:
            if self._over:
                return
            self._over = True
        self._tell_all({"kind": "lost", "reason": reason, "index": lost})
        with self._changed:
            self._changed.notify_all()

    def wait_for_byes(self, timeout_s: float) -> None:
        """Stay until everybody else has gone: they need process 0 until then."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._over or all(g.said_bye for i, g in self._guests.items() if i),
                timeout_s,
            )
        self._close()

    def _tell_all(self, message: Message) -> None:
        for guest in list(self._guests.values()):
            self._try(guest.line, message)

    def _try(self, line: Line, message: Message) -> None:
        with contextlib.suppress(LineClosedError):  # the thread that listens to it will notice
            line.send(message)

    def _close(self) -> None:
        self._over = True
        self._server.close()
