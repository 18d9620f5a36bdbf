"""Wait for something that other processes do, but not for ever.

In: a question, and the processes whose doing it is.  Out: its first answer that is true.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from subprocess import Popen
from typing import TypeVar

Answer = TypeVar("Answer")


def wait_until(
    happened: Callable[[], Answer], *running: Popen, timeout_s: float = 120.0, every_s: float = 0.05
) -> Answer:
    """Ask until the answer is true; fail where it takes too long, or nobody is left to do it."""
    until = time.monotonic() + timeout_s
    while not (answer := happened()):
        for one in running:
            assert one.poll() is None, f"it ended with {one.returncode}: {_last_words(one)}"
        assert time.monotonic() < until, f"it has not happened within {timeout_s:.0f} s"
        time.sleep(every_s)
    return answer


def wait_for_line(running: Popen, part: str) -> str:
    """Read what a process says up to a line with these words; fail where it ends before."""
    assert running.stdout is not None
    for line in running.stdout:
        if part in line:
            return line
    raise AssertionError(f"it never said {part!r}: {_last_words(running)}")


def _last_words(running: Popen) -> str:
    out, err = running.communicate(timeout=60)
    return f"{out or ''}\n{err or ''}"[-3000:]
