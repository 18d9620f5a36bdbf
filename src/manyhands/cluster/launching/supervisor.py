"""Run a group of processes to its end, and start it again when one of them dies.

In: a LaunchPlan and a command.  Out: an exit code, and on the screen who died and how.
A group lives and dies together: one that has lost a process cannot compute, so the rest is ended
and all begin again from the last checkpoint.
"""

from __future__ import annotations

import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from manyhands import config
from manyhands.cluster.exits import AGAIN_EXIT, LOST_EXIT
from manyhands.cluster.launching.children import Child, Nursery
from manyhands.cluster.launching.output import Output
from manyhands.cluster.launching.plan import LaunchPlan
from manyhands.cluster.listening import free_port

_FOLLOWED = (None, 0, LOST_EXIT, -signal.SIGABRT)
"""How processes end that only noticed the loss of another: JAX aborts when process 0 is gone."""
_POLL_S = 0.05
_LAST_WORDS_S = 4.0
"""So long the others have to say that somebody was lost, before they are ended."""
_STOP_S = 30.0
_SHORT_S, _MOST_SHORT = 10.0, 5
"""A program that asks so often, so soon, to be started again gets nowhere."""


class Supervisor:
    """Starts a group, watches it, and starts it again."""

    def __init__(
        self,
        plan: LaunchPlan,
        command: Sequence[str],
        *,
        max_restarts: int = 0,
        log_dir: Path | None = None,
        say: Any = None,
    ) -> None:
        self._plan = plan
        self._command = list(command)
        self._max_restarts = max_restarts
        self._log_dir = log_dir
        self._say = say or _to_stderr
        self._stop: signal.Signals | None = None
        self._token = config.settings().token or secrets.token_hex(16)

    def run(self) -> int:
        """Run until the group has ended for good."""
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        nursery = Nursery()
        try:
            with tempfile.TemporaryDirectory(prefix="manyhands-run-") as private:
                return self._attempts(nursery, private)
        finally:
            nursery.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _attempts(self, nursery: Nursery, private: str) -> int:
        attempt, restarts, died_before, num_short = 0, 0, -1, 0
        while True:
            output = Output(log_dir=self._log_dir)
            began_s = time.monotonic()
            code, culprit = self._attempt(nursery, output, private, attempt)
            output.finish()
            if self._stop is not None or code == 0:
                return code
            attempt += 1
            if code == AGAIN_EXIT:
                num_short = num_short + 1 if time.monotonic() - began_s < _SHORT_S else 0
                if num_short < _MOST_SHORT:
                    self._say(f"the program asked to be started again (exit code {code}).")
                    continue
                self._say(f"it has asked so {num_short} times, at once each time; no more.")
            if restarts == self._max_restarts:
                self._show_last(culprit, output)
                return code if code > 0 else 128 - code
            restarts += 1
            self._shrink(culprit, died_before)
            died_before = culprit.index
            self._say(
                f"starting again{_with_how_many(self._plan)} "
                f"(restart {restarts} of {self._max_restarts})."
            )

    def _shrink(self, culprit: Child, died_before: int) -> None:
        """Leave out a process that died twice in a row, where fewer are allowed."""
        least = self._plan.min_processes
        if culprit.index != died_before or least is None or self._plan.meets_others:
            return
        if self._plan.num_processes > least:
            self._plan = self._plan.smaller()
            self._say(f"process {culprit.index} died twice in a row; going on without it.")

    # one attempt

    def _attempt(
        self, nursery: Nursery, output: Output, private: str, attempt: int
    ) -> tuple[int, Child]:
        plan = self._plan
        coordinator = plan.coordinator or f"127.0.0.1:{free_port('127.0.0.1')}"
        children = []
        for place in range(plan.num_here):
            told = plan.environment(place, coordinator=coordinator, attempt=attempt)
            told["MANYHANDS_TOKEN"] = config.settings().token if plan.meets_others else self._token
            told.setdefault(
                "JAX_COMPILATION_CACHE_DIR",
                config.environment().get("JAX_COMPILATION_CACHE_DIR", private),
            )
            child = nursery.start(plan.index(place), self._command, told)
            assert child.process.stdout is not None
            output.follow(child.index, child.process.stdout)
            children.append(child)
        try:
            return self._watch(children)
        finally:
            for child in children:
                child.kill()
                child.process.wait()
                nursery.ended(child)

    def _watch(self, children: list[Child]) -> tuple[int, Child]:
        while True:
            if self._stop is not None:
                return self._stopped(children), children[0]
            failed = [child for child in children if child.code not in (None, 0)]
            if failed:
                return self._failed(children, failed)
            if all(child.code == 0 for child in children):
                return 0, children[0]
            time.sleep(_POLL_S)

    def _failed(self, children: list[Child], failed: list[Child]) -> tuple[int, Child]:
        """Let the others say what they saw, then find out who was the first."""
        if failed[0].code == AGAIN_EXIT:
            self._wait(children, _STOP_S)
            codes = {child.code for child in children}
            if codes <= {0, AGAIN_EXIT}:
                return AGAIN_EXIT, failed[0]
        self._wait(children, _LAST_WORDS_S)
        hung = [child for child in children if child.code is None]
        died = [child for child in (*failed, *children) if child.code not in _FOLLOWED]
        culprit = (died or hung or failed)[0]
        self._say(f"process {culprit.index} {_fate(culprit)}; the group ends.")
        culprit.kill()
        return culprit.process.wait(), culprit

    def _wait(self, children: list[Child], timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        while time.monotonic() < until and self._stop is None:
            if all(child.code is not None for child in children):
                return
            time.sleep(_POLL_S)

    # stopping

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._stop is not None:  # asked twice: no more waiting
            raise KeyboardInterrupt
        self._stop = signal.Signals(number)

    def _stopped(self, children: list[Child]) -> int:
        number = self._stop
        assert number is not None
        self._say(f"{number.name}: stopping {len(children)} processes.")
        for child in children:
            child.signal(number)
        until = time.monotonic() + _STOP_S
        while time.monotonic() < until and any(child.code is None for child in children):
            time.sleep(_POLL_S)
        if any(child.code == AGAIN_EXIT for child in children):
            return AGAIN_EXIT
        return 128 + number

    def _show_last(self, culprit: Child, output: Output) -> None:
        lines = output.last_lines(culprit.index)
        if lines:
            shown = "\n".join(f"  {line}" for line in lines)
            self._say(f"the last lines of process {culprit.index}:\n{shown}")


def _with_how_many(plan: LaunchPlan) -> str:
    return "" if plan.scheduled is not None else f" with {plan.num_processes} processes"


def _fate(child: Child) -> str:
    if child.code is None:
        return "hangs"
    if child.code == LOST_EXIT:
        return "stopped because another process was lost"
    return child.describe()


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"manyhands: {text}\n")
    sys.stderr.flush()
