"""How a rival is timed: warm up, repeat, take the better of two; report seconds a step."""

from __future__ import annotations

import time
from collections.abc import Callable

REPEATS = 2


def seconds_per_step(run: Callable[[], int]) -> float:
    """`run` does some steps to the end, waits for them, and returns how many."""
    measured = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        steps = run()
        measured.append((time.perf_counter() - began) / steps)
    return min(measured)
