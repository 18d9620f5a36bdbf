"""The meeting point of a group, on a thread of process 0.

In: one line from each process.  Out: a roll call, everybody's answers to a question, and word of
whoever is lost.
Knows nothing of JAX: it is there before JAX connects, and when JAX no longer answers.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from manyhands.cluster.hang import held_up_by, report
from manyhands.cluster.membership import Member
from manyhands.cluster.roll_call import Guest, RollCall
from manyhands.cluster.trail import Parting, Trails, shown
from manyhands.cluster.wire import MAIN, LineClosedError, Message

_REPORT_S = 2.0
_PATIENCE_S = 10.0
"""So long process 0 waits for the others' ends without a word."""


@dataclass
class Question:
    """One thing that everybody is asked."""

    name: str
    answers: dict[int, Any] = field(default_factory=dict)


class Hub:
    """Brings the processes of a group together.

    Args:
        server: the socket that others connect to.
        start_jax: starts JAX's coordinator for so many processes, and gives its port.
        least: begin with so many, when the rest does not come.
        silence_s: after so long without a word a process is taken for lost.
        limit_s: after so long a wait for a process, it is taken for stuck.
    """

    def __init__(
        self,
        server: socket.socket,
        members: tuple[Member, ...],
        *,
        token: str,
        start_jax: Callable[[int], int],
        least: int | None = None,
        silence_s: float,
        limit_s: float = 300.0,
    ) -> None:
        self._members = members
        self._start_jax = start_jax
        self._silence_s = silence_s
        self._limit_s = limit_s
        self._guests: list[Guest] = []
        self._questions: dict[str, Question] = {}
        self._reports: dict[int, Message] = {}
        self._claims: dict[str, Any] = {}
        self._steps: dict[int, int] = {}
        self._trails = Trails()
        self._parting: Parting | None = None
        self._left: list[int] = []
        self._all_left = False
        self._changed = threading.Condition()
        self._over = self._all_told = False
        self._reason = ""
        self.has_lost = False
        """Whether the group has ended because a process was lost."""
        self._roll_call = RollCall(
            server,
            members,
            token=token,
            least=least or len(members),
            begin=self._begin,
            listen=self._listen,
        )

    # arriving

    def missing(self) -> list[int]:
        """Who has not arrived yet."""
        return self._roll_call.missing()

    @property
    def refusals(self) -> list[str]:
        """Who came and was refused, with the reason."""
        return self._roll_call.refusals

    def begin_with_fewer(self) -> bool:
        """Begin with those who are here, if they are enough."""
        return self._roll_call.begin_with_fewer()

    def give_up(self, reason: str) -> None:
        """Tell those who have arrived that it will not begin."""
        self._over = True
        self._roll_call.give_up(reason)

    def _begin(self, present: list[int], guests: list[Guest]) -> None:
        self._members = tuple(self._members[index] for index in present)
        self._guests = guests
        try:
            port = self._start_jax(len(guests))
        except Exception as error:  # whatever it was, the others must hear of it
            self.give_up(f"JAX's coordinator did not start: {error}")
            raise
        self._tell_all({"kind": "welcome", "present": present, "jax_port": port})
        threading.Thread(target=self._watch, name="manyhands-hub", daemon=True).start()

    # talking

    def _listen(self, guest: Guest) -> None:
        try:
            while not self._over:
                message = guest.line.receive()
                guest.heard_s = time.monotonic()
                self._take(guest, message)
        except LineClosedError as error:
            if self._guests and not guest.said_bye and not self._over:
                self._lose(guest, f"its connection ended ({error}): it was killed or has crashed")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            if self._guests and not self._over:
                self._lose(guest, f"what it said makes no sense ({type(error).__name__}: {error})")

    def _take(self, guest: Guest, message: Message) -> None:
        kind, index = message.get("kind"), guest.index
        if kind == "answer":
            self._answer(index, message)
        elif kind == "beat":
            guest.where = message
            guest.tell({"kind": "beat"})
            self._end_if_parted(self._trails.parting(index, message.get("marks", [])))
        elif kind == "report":
            with self._changed:
                self._reports[index] = message
                self._changed.notify_all()
        elif kind == "claim":
            first = self._claims.setdefault(message["key"], message["value"])
            guest.tell({"kind": "claimed", "key": message["key"], "value": first})
        elif kind == "stop":
            self._tell_all({"kind": "stop?"})
        elif kind == "stop_at":
            self._stopping(index, message["step"])
        elif kind == "bye":
            self._take_leave(guest, message)

    def _take_leave(self, guest: Guest, message: Message) -> None:
        guest.said_bye = True
        if message.get("error"):
            self._lose(guest, f"its program ended with {message['error']}")
        self._tell_all({"kind": "gone", "index": guest.index})
        self._end_what_nobody_answers()
        with self._changed:
            self._left.append(guest.index)
            parting = self._trails.parting_at_the_end(guest.index, message["trail"])
            self._parting = self._parting or parting
            is_last = len(self._left) == len(self._guests)
        if is_last:
            self._end_if_parted(self._parting)
        with self._changed:
            self._all_left = self._all_left or is_last
            self._changed.notify_all()

    def _end_if_parted(self, parting: Parting | None) -> None:
        if parting is not None:
            self._end(
                "The processes have not run the same steps. "
                f"{self._members[parting.one]}: {shown(parting.its)}; "
                f"{self._members[parting.other]}: {shown(parting.others)}."
            )

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
        else:
            self._end_what_nobody_answers()

    def _end_what_nobody_answers(self) -> None:
        """End the group when somebody waits for the answer of one whose program has ended.

        What threads ask ahead of a program may stay open for good, and does not count.
        """
        with self._changed:
            asked = [
                (question.name, guest.index)
                for number, question in self._questions.items()
                if number.startswith(f"{MAIN} ")
                for guest in self._guests
                if guest.said_bye and guest.index not in question.answers
            ]
        for name, index in asked[:1]:
            self._end(
                f"{self._members[index]} has ended its program, while others wait for it at: "
                f"{name}."
            )

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

    # watching

    def _watch(self) -> None:
        while not self._over:
            time.sleep(min(1.0, self._silence_s / 4))
            present = [guest for guest in self._guests if not guest.said_bye]
            silent_since = time.monotonic() - self._silence_s
            silent = next((guest for guest in present if guest.heard_s < silent_since), None)
            said = {guest.index: guest.where for guest in present}
            gone = [guest.index for guest in self._guests if guest.said_bye]
            late = held_up_by(said, self._limit_s, gone)
            if silent is None and not late:
                continue
            self._explain(present)
            if silent is not None:
                how = f"nothing was heard of it for {self._silence_s:.0f} s: its machine is cut off"
                self._lose(silent, f"{how}, or it is stuck")
            else:
                self._end(self._who_waits(late, said))

    def _who_waits(self, late: list[int], said: dict[int, Message]) -> str:
        if len(late) == len(said):
            places = "; ".join(f"{self._members[i]}: {said[i].get('doing')}" for i in late)
            return f"All have waited {self._limit_s:.0f} s for each other. {places}."
        names = ", ".join(str(self._members[index]) for index in late)
        return f"The others have waited {self._limit_s:.0f} s for {names}."

    def _explain(self, present: list[Guest]) -> None:
        """Gather what every process is doing, and print it."""
        with self._changed:
            self._reports.clear()
        self._tell_all({"kind": "stacks"})
        with self._changed:
            self._changed.wait_for(lambda: len(self._reports) >= len(present), _REPORT_S)
            stacks = {index: told["stacks"] for index, told in self._reports.items()}
        said = {guest.index: guest.where for guest in present}
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(report(self._members, said, stacks))
            sys.stderr.flush()

    def _lose(self, guest: Guest, how: str) -> None:
        self.has_lost = True
        self._end(f"{self._members[guest.index]} was lost: {how}.")

    def _end(self, reason: str) -> None:
        with self._changed:
            if self._over:
                return
            self._over, self._reason = True, reason
        self._roll_call.close()  # who comes now belongs to the next group
        self._tell_all({"kind": "lost", "reason": reason})
        with self._changed:
            self._all_told = True
            self._changed.notify_all()

    def wait_for_the_end(self, timeout_s: float) -> None:
        """Stay until everybody has been told that the group ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._all_told, timeout_s)

    def wait_for_byes(self, say: Callable[[str], None]) -> str:
        """Stay until everybody has gone: they need process 0 until then.

        Gives the reason where the group has ended otherwise.
        """
        told = False
        with self._changed:
            while not self._changed.wait_for(self._all_gone, _PATIENCE_S):
                if not told:
                    names = (str(self._members[g.index]) for g in self._guests if not g.said_bye)
                    say(f"this program has ended; waiting for {', '.join(names)}.")
                    told = True
        reason = self._reason
        self._close()
        return reason

    def _all_gone(self) -> bool:
        return self._over or self._all_left

    def _tell_all(self, message: Message) -> None:
        for guest in self._guests:
            guest.tell(message)

    def _close(self) -> None:
        self._over = True
        self._roll_call.close()
