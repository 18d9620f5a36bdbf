"""The processes that train together, as one of them sees it.

In: a Line to process 0's hub.  Out: `agree`, which gives everybody's answer to a question, and an
end that is explained when a process is lost.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from manyhands.cluster.exits import LOST_EXIT
from manyhands.cluster.membership import Membership
from manyhands.cluster.stacks import python_stacks
from manyhands.cluster.stops import Stops
from manyhands.cluster.trail import Trail
from manyhands.cluster.wire import (
    MAIN,
    MOST_BYTES,
    Line,
    LineClosedError,
    Message,
    TooLongError,
)
from manyhands.errors import ClusterError, ProcessLostError, explain

FEED_THREADS = "manyhands-feed"
_BEAT_S = 1.0
_HUB_S = 10.0
"""Process 0 says who is missing; only if it does not, we say that somebody is."""
_GRACE_S = 2.0
"""So long a program has to end by itself after somebody was lost."""


@dataclass
class _Channel:
    """Questions that are asked one after the other."""

    num_asked: int = 0
    answers: queue.Queue[Message] = field(default_factory=queue.Queue)
    asking: threading.Lock = field(default_factory=threading.Lock)


class Group:
    """This process' side of a group.

    Args:
        timeout_s: how long everybody is waited for.
        silence_s: after so long without a word of process 0 it is taken for lost.
    """

    def __init__(
        self, membership: Membership, line: Line, *, timeout_s: float, silence_s: float = 60.0
    ) -> None:
        self.membership = membership
        self._line = line
        self._timeout_s = timeout_s
        self._silence_s = silence_s
        self._heard_s = time.monotonic()
        self._channels: dict[str, _Channel] = {}
        self._lost = ""
        self._left = False
        self._where: Message = {"doing": "starting", "step": 0}
        self._waits: dict[object, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._claims: dict[str, queue.Queue[Any]] = {}
        self._stops = Stops(self._say)
        self._gone: list[int] = []
        self.trail = Trail()
        """What this process has launched with the others."""
        for task in (self._listen, self._beat):
            threading.Thread(target=task, name="manyhands-group", daemon=True).start()

    @property
    def index(self) -> int:
        """The number of this process."""
        return self.membership.index

    @property
    def size(self) -> int:
        """How many processes there are."""
        return self.membership.size

    # questions

    def agree(self, name: str, value: Any, *, channel: str = MAIN) -> list[Any]:
        """Give everybody's answer to the same question, in the order of the processes.

        Every process must ask the same questions in the same order, for each channel; one that
        does not is named.  A thread that asks beside others has a channel of its own.
        """
        self._refuse_if_lost()
        with self._lock:
            used = self._channels.setdefault(channel, _Channel())
        with used.asking:
            number = f"{channel} {used.num_asked}"
            used.num_asked += 1
            self._answer({"kind": "answer", "number": number, "name": name, "value": value})
            with self.waiting(f"waiting for the others at: {name}"):
                return self._await(used, number, name)

    def _answer(self, message: Message) -> None:
        """Send an answer; one that is too long to be told to all is refused where it is made."""
        try:
            with contextlib.suppress(LineClosedError):
                self._line.send(message, most_bytes=MOST_BYTES // (self.size + 1))
        except TooLongError as error:
            raise ClusterError(
                explain(
                    f"What this process has to say to {message['name']} is too long.",
                    got=f"{self.membership.me}: {error}",
                    fix="keep what the processes must agree on small: large arrays belong into "
                    "variables, or into the data.",
                )
            ) from None

    def _await(self, used: _Channel, number: str, name: str) -> list[Any]:
        until = time.monotonic() + self._timeout_s + _HUB_S
        while True:
            try:
                message = used.answers.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise ClusterError(
                    explain(
                        f"Not every process came to {name} within {self._timeout_s:.0f} s.",
                        got=f"{self.membership.me} has waited there",
                        fix="look at what the others are doing; all must run the same program. "
                        "MANYHANDS_TIMEOUT allows more seconds.",
                    )
                ) from None
            self._refuse_if_lost()
            if message.get("number") == number:
                return message["values"]

    def _refuse_if_lost(self) -> None:
        if self._lost:
            raise ProcessLostError(
                explain(
                    self._lost,
                    got=f"{self.membership.me} cannot go on alone",
                    fix="start the program again; `manyhands run --max-restarts N` does so by "
                    "itself, from the last checkpoint.",
                )
            )

    def claim(self, key: str) -> bool:
        """Whether this process is the one to do something that one process does for all.

        The first to ask is, for good.  Nobody waits for anybody.
        """
        return self.first_word(key, self.index) == self.index

    def first_word(self, key: str, mine: Any) -> Any:
        """Give what the first process said that spoke of this: ours, if nobody has.

        Nobody waits for anybody.  None where process 0 does not answer.
        """
        self._refuse_if_lost()
        answer = self._claims.setdefault(key, queue.Queue())
        self._say({"kind": "claim", "key": key, "value": mine})
        try:
            said = answer.get(timeout=self._timeout_s)
        except queue.Empty:
            said = None
        self._refuse_if_lost()
        return said

    def writes(self, place: Path) -> bool:
        """Whether this process is the one that writes to a place of its machine.

        The processes of a group hold the same values; the first that writes goes on doing so.
        """
        return self.claim(f"{socket.gethostname()}:{place.absolute()}")

    @property
    def stops(self) -> Stops:
        """How all processes stop after the same step."""
        return self._stops

    # where we are

    def at_step(self, step: int) -> None:
        """Note which step this process has come to, for whoever asks why nothing moves."""
        self._where = {"doing": "running the program", "step": step}

    @contextmanager
    def waiting(self, doing: str) -> Iterator[None]:
        """Note that what happens inside cannot end before the others have come.

        Threads that read ahead of the program do not count: nobody need wait for what they do.
        """
        if threading.current_thread().name.startswith(FEED_THREADS):
            yield
            return
        wait = object()
        self._waits[wait] = doing, time.monotonic()
        try:
            yield
        finally:
            del self._waits[wait]

    def _now(self) -> Message:
        waits = list(self._waits.values())
        if not waits:
            return self._where
        doing, since_s = waits[-1]
        return {**self._where, "doing": doing, "waiting_s": time.monotonic() - since_s}

    def _beat(self) -> None:
        while not self._left and not self._lost:
            self._say({"kind": "beat", "marks": self.trail.take_marks(), **self._now()})
            time.sleep(_BEAT_S)
            if time.monotonic() - self._heard_s > self._silence_s:
                self._mourn(
                    f"{self.membership.members[0]} was lost: nothing was heard of it for "
                    f"{self._silence_s:.0f} s: one of us is cut off, or it is stuck."
                )

    def _say(self, message: Message) -> None:
        with contextlib.suppress(LineClosedError):  # the thread that listens will say it
            self._line.send(message)

    # endings

    def _listen(self) -> None:
        try:
            while True:
                message = self._line.receive()
                self._heard_s = time.monotonic()
                kind = message.get("kind")
                if kind == "answers":
                    self._channels[message["number"].rsplit(" ", 1)[0]].answers.put(message)
                elif kind == "claimed":
                    self._claims[message["key"]].put(message["value"])
                elif kind in ("stop?", "stop!"):
                    self._stops.take(message)
                elif kind == "gone":
                    self._gone.append(message["index"])
                elif kind == "stacks":
                    self._say({"kind": "report", "stacks": python_stacks()})
                elif kind == "lost":
                    self._mourn(message["reason"])
                    return
        except LineClosedError as error:
            if not self._left:
                first = self.membership.members[0]
                self._mourn(f"{first} was lost: its connection ended ({error}).")

    def _mourn(self, reason: str) -> None:
        """Say who was lost, and end this process unless its program does so first."""
        if self._left or self._lost:
            return
        where = self._now()
        doing = f"{where['doing']}, step {where['step']}"
        self._lost = reason
        for channel in list(self._channels.values()):
            channel.answers.put({})
        for answer in list(self._claims.values()):
            answer.put(None)
        with contextlib.suppress(OSError, ValueError):  # nobody may be reading
            sys.stderr.write(  # no logger may be listening, and the process is about to end
                f"manyhands: {reason}\n  got: {self.membership.me} was at: {doing}\n"
                "  fix: start it again; `manyhands run --max-restarts N` does so from the last "
                "checkpoint.\n"
            )
            sys.stderr.flush()
        time.sleep(_GRACE_S)
        if not self._left:
            os._exit(LOST_EXIT)

    def hears_of_a_loss(self, timeout_s: float) -> bool:
        """Whether another process was lost, or is found to be within so long."""
        until = time.monotonic() + timeout_s
        while not self._lost and time.monotonic() < until:
            time.sleep(0.02)
        return bool(self._lost)

    def gone(self) -> str:
        """Name those whose program has ended, though ours goes on."""
        return ", ".join(str(self.membership.members[index]) for index in self._gone)

    def leave(self, error: str = "") -> None:
        """Say goodbye: this process' program has ended."""
        if self._left or self._lost:
            self._left = True
            return
        self._left = True
        self._say({"kind": "bye", "error": error, "trail": self.trail.end()})
