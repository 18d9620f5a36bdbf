"""Ctrl-C never catches the state between two steps, and is never lost.

In: SIGINT while a step is being launched.  Out: KeyboardInterrupt right after it, when the new
state is held.  Outside a launch Ctrl-C acts at once; pressed twice, it acts at once anywhere.
An interrupt that strikes inside library code can be swallowed there (C code that asks for an
attribute, a destructor): so the next launch raises it again.  One that strikes inside a user's own
code is the user's to catch.
"""

from __future__ import annotations

import _signal as quick_signal  # pyright: ignore[reportMissingImports]  (no enums: 9 µs less)
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_LIBRARIES = {"keras", "jax", "jaxlib", "manyhands", "numpy", "optree", *sys.stdlib_module_names}
_SIGINT = int(signal.SIGINT)
_BOUNDARY = "manyhands.keras_bridge"
"""Every call of Keras' methods goes through this package: below it on the stack is the program."""


class Interrupts:
    """Holds back one SIGINT while the watching thread is in `held`."""

    def __init__(self) -> None:
        self._watcher: int | None = None
        self._reset()

    def _reset(self) -> None:
        self._holding = False
        self._pending = False
        self._raised = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take over Python's own SIGINT handler for the time of a call, on the main thread."""
        before = quick_signal.getsignal(_SIGINT)
        if (
            threading.current_thread() is not threading.main_thread()
            or before is not signal.default_int_handler
        ):
            yield
            return
        self._reset()
        self._watcher = threading.get_ident()
        quick_signal.signal(_SIGINT, self._on_signal)
        try:
            yield
        finally:
            quick_signal.signal(_SIGINT, before)
            self._watcher = None
            self._reset()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nothing interrupt this."""
        if threading.get_ident() != self._watcher:
            yield
            return
        if self._raised:
            self._raised = False
            raise KeyboardInterrupt
        self._holding = True
        try:
            yield
        finally:
            pending, self._holding, self._pending = self._pending, False, False
            if pending:
                raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> Any:
        if self._holding and not self._pending:
            self._pending = True
            return
        self._raised = not _in_users_code(frame)
        signal.default_int_handler(number, frame)


def _in_users_code(frame: FrameType | None) -> bool:
    """Whether a callback, a generator or a model of the user's is on the stack inside the call."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == _BOUNDARY or module.startswith(_BOUNDARY + "."):
            return False
        if module.split(".")[0] not in _LIBRARIES or module == "__main__":
            return True
        frame = frame.f_back
    return True


interrupts = Interrupts()
"""Signals belong to the process, and so does this."""
