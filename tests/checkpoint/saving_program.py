"""A program that saves without pause, for test_kill.py to kill.

It loads everything once, and then for each directory named on its input forks a child that
restores, counts on and saves in a loop.  A child prints its process id when its first save begins,
and writes each number into `done` when that save is complete.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import manyhands  # noqa: F401  (first: it chooses Keras' backend)

# isort: split
import keras
import numpy as np
import tensorstore  # noqa: F401  (loaded once for all children)

from manyhands.checkpoint import Checkpoint, CheckpointManager

NUM_VARIABLES, SIZE = 6, 20_000


class Position:
    """A data iterator's position, in short."""

    def __init__(self) -> None:
        self.at = 0

    def get_state(self):
        return {"at": self.at}

    def set_state(self, state):
        self.at = state["at"]


def objects():
    """Make what is saved: everything holds the number of the step."""
    weights = [keras.Variable(np.zeros(SIZE, "f4")) for _ in range(NUM_VARIABLES)]
    return {
        "weights": weights,
        "step": keras.Variable(0, dtype="int32"),
        "position": Position(),
    }


def steps_in(things) -> set[int]:
    """Read the number of the step wherever it is held."""
    found = {int(things["step"]), things["position"].at}
    for variable in things["weights"]:
        found.update(np.unique(np.asarray(variable.value)).astype(int).tolist())
    return found


def save_for_ever(directory: Path) -> None:
    """Count and save."""
    things = objects()
    checkpoint = Checkpoint(**things)
    manager = CheckpointManager(checkpoint, directory, max_to_keep=2)
    manager.restore_or_initialize()
    done = os.open(directory / "done", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    first, last = True, None
    while True:
        step = int(things["step"]) + 1
        things["step"].assign(step)
        things["position"].at = step
        for variable in things["weights"]:
            variable.assign(np.full(SIZE, step, "f4"))
        if first:
            print(os.getpid(), flush=True)
            first = False
        manager.save()  # when it returns, the save before is complete
        if last is not None:
            os.write(done, f"{last}\n".encode())
        last = step


def main() -> None:
    """Fork a child for each directory on the input."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            save_for_ever(Path(line.strip()))
        os.waitpid(child, 0)
        print("gone", flush=True)


if __name__ == "__main__":
    main()
