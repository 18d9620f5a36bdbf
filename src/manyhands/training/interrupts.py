"""Ctrl-C never catches the state between two steps.

In: SIGINT while a step is being launched.  Out: KeyboardInterrupt right after it, when the new
state is held.  Outside a launch Ctrl-C acts at once; pressed twice, it acts at once anywhere.
An interrupt that strikes inside a destructor or a weak reference's callback is dropped by Python:
so the next launch asks whether there was one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Holds back one SIGINT while `holding`."""

    def __init__(self) -> None:
        self._holding = False
        self._pending = False
        self._raised = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take over Python's own SIGINT handler for the time of a call, on the main thread."""
        before = signal.getsignal(signal.SIGINT)
        if (
            threading.current_thread() is not threading.main_thread()
            or before is not signal.default_int_handler
        ):
            yield
            return
        self._pending = self._raised = False
        signal.signal(signal.SIGINT, self._on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nothing interrupt this."""
        if self._raised:
            raise KeyboardInterrupt
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            if self._pending:
                raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> Any:
        if self._holding and not self._pending:
            self._pending = True
            return
        self._raised = True
        signal.default_int_handler(number, frame)


interrupts = Interrupts()
"""Signals belong to the process, and so does this."""
