"""What saving while training costs: `fit` with a checkpoint every 50 steps, against none.

python -m bench.saving                  100 MB of state, 200 steps, three runs of each, by turns

Prints the seconds a step of both, how long the loop stands still for a save, and how long a program
that goes on takes to its first step.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from functools import cache
from typing import Any, ClassVar

import manyhands as mh

import keras  # isort: skip  (after manyhands, which chooses its backend)
import numpy as np

from bench.__main__ import RESULTS
from bench.machine import describe

EVERY = 50
STEPS = 200
WIDTH = 2048


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.saving", description=__doc__)
    parser.add_argument("--name", default="saving", help="name of the result file")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, by turns")
    options = parser.parse_args()
    found = measured(options.repeats)
    command = f"python -m bench.saving --repeats {options.repeats}"
    result = {"command": command, "machine": describe(), **found}
    (RESULTS / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(found))


class Timed(mh.callbacks.Resume):
    """Counts how long its saves hold the loop up."""

    held_s: ClassVar[list[float]] = []

    def _save(self, *, wait: bool, needed: bool) -> None:
        began_s = time.perf_counter()
        super()._save(wait=wait, needed=needed)
        if not wait:
            self.held_s.append(time.perf_counter() - began_s)


class Clock(keras.callbacks.Callback):
    """Times the first step, and the steps between it and the last."""

    first_s = 0.0

    def get_state(self) -> None:
        """Nothing of it goes on in a later `fit`."""

    def set_state(self, state: None) -> None:
        pass

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self.last_s = time.perf_counter()
        if not self.first_s:
            self.first_s, self.first_batch = self.last_s, batch
        self.last_batch = batch


def fit(every: int, directory: str, epochs: int = 1) -> tuple[float, float]:
    """Train; give the seconds to the first step, and of each step after it."""
    x, y = data()
    with mh.MirroredStrategy(["cpu:0"] if _is_cpu() else None).scope():
        model = keras.Sequential(
            [keras.Input((WIDTH,)), keras.layers.Dense(WIDTH), keras.layers.Dense(WIDTH)]
        )
        model.compile("adam", "mse")
    clock, began_s = Clock(), time.perf_counter()
    callbacks = [Timed(directory, every_steps=every), clock]
    model.fit(x, y, batch_size=64, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)
    num_steps = max(1, clock.last_batch - clock.first_batch)
    return clock.first_s - began_s, (clock.last_s - clock.first_s) / num_steps


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 64 * STEPS, WIDTH)).astype("float32")
    return x, y


def measured(repeats: int) -> dict[str, Any]:
    plain, saving, fresh, resumed = [], [], [], []
    for _ in range(repeats):
        for every, times in ((10**9, plain), (EVERY, saving)):
            directory = tempfile.mkdtemp()
            to_first_s, step_s = fit(every, directory)
            times.append(step_s)
            fresh.append(to_first_s)
            resumed.append(fit(every, directory, epochs=2)[0])
            shutil.rmtree(directory)
    without, with_saves = statistics.median(plain), statistics.median(saving)
    held_s = statistics.median(Timed.held_s)
    ratios = [one / other for one, other in zip(saving, plain, strict=True)]
    return {
        "step_ms": round(without * 1e3, 2),
        "step_with_saves_ms": round(with_saves * 1e3, 2),
        "step_ms_of_each": [round(step_s * 1e3, 2) for step_s in plain],
        "cost_percent": round(100 * (statistics.median(ratios) - 1), 2),
        "held_up_ms": round(held_s * 1e3, 1),
        "held_up_percent": round(100 * held_s / (EVERY * without), 2),
        "first_step_s": round(statistics.median(fresh), 2),
        "first_step_resumed_s": round(statistics.median(resumed), 2),
        "state_mb": round(3 * 2 * (WIDTH * WIDTH + WIDTH) * 4 / 1e6),
    }


def _is_cpu() -> bool:
    import jax

    return jax.devices()[0].platform == "cpu"


if __name__ == "__main__":
    main()
