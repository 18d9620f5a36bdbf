"""How a rival is timed: warm up, repeat, take the median; report seconds a step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

LEAST_REPEATS, MOST_REPEATS = 3, 5
ENOUGH_S = 10.0


def seconds_per_step(run: Callable[[], int]) -> float:
    """`run` does some steps to the end, waits for them, and returns how many."""
    measured: list[float] = []
    first = time.perf_counter()
    while len(measured) < MOST_REPEATS:
        began = time.perf_counter()
        if len(measured) >= LEAST_REPEATS and began - first > ENOUGH_S:
            break
        steps = run()
        measured.append((time.perf_counter() - began) / steps)
    return statistics.median(measured)
