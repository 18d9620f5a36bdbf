"""Input pipelines, ours and tf.data's, in one run.

python -m bench.pipelines                 prints a table, writes bench/results/pipelines.json
python -m bench.pipelines ours            one side, told what to run (what the above starts)
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "pipelines.json"
ROWS, WIDTH, BATCH, EPOCHS = 60_000, 784, 128, 7
OPAQUE_ROWS = 6_000
WANTED = {"shuffle": 3.0, "normalise": 5.0, "noise": 5.0, "flip": 5.0, "opaque": 1.0}
SAYS = {
    "shuffle": "cache, shuffle(60000), batch, prefetch",
    "normalise": "… and a map: (x - 0.5) * 2",
    "noise": "… and a map: normalise, add normal noise",
    "flip": "… and a map: normalise, flip at random",
    "opaque": "a Python map by row, 6,000 rows",
}


def main() -> None:
    if len(sys.argv) > 1:
        _serve(SIDES[sys.argv[1]])
        return
    from rich.console import Console
    from rich.table import Table

    from bench import tf_environment
    from bench.machine import describe

    sides = {
        "ours": Side(sys.executable, "ours", KERAS_BACKEND="jax", JAX_PLATFORMS="cpu"),
        "tf_data": Side(tf_environment.python(), "tf_data", TF_CPP_MIN_LOG_LEVEL="3"),
    }
    machine = describe()
    machine["versions"]["tensorflow"] = sides["tf_data"].version
    rows = []
    table = Table("pipeline", "ours, batches/s", "tf.data, batches/s", "ratio", "wanted")
    for name, says in SAYS.items():
        ours, theirs = _alternating(list(sides.values()), name)
        row = {"pipeline": name, "ours_per_s": round(ours, 1), "tf_data_per_s": round(theirs, 1)}
        rows.append(row | {"ratio": round(ours / theirs, 2), "wanted": WANTED[name]})
        speeds = (f"{ours:,.0f}", f"{theirs:,.0f}")
        table.add_row(says, *speeds, f"{ours / theirs:.2f}", f"{WANTED[name]:.0f}")
    for side in sides.values():
        side.end()
    Console(width=110).print(table)
    found = {"command": "python -m bench.pipelines", "machine": machine, "rows": rows}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


class Side:
    """A process that runs an epoch of a pipeline when asked."""

    def __init__(self, python: str, name: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [python, "-m", "bench.pipelines", name],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.version = self._answer()

    def run(self, name: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        raise SystemExit("a side of the benchmark ended early")

    def end(self) -> None:
        self._process.communicate()


def _alternating(sides: list[Side], name: str) -> list[float]:
    """Batches a second of each: medians of epochs run in turns, so that both meet the same load."""
    rounds = [[side.run(name) for side in sides] for _ in range(EPOCHS + 1)]
    return [statistics.median(found[1:]) for found in zip(*rounds, strict=True)]  # one warms up


def _serve(side: Callable[[], tuple[str, dict[str, Iterable[Any]]]]) -> None:
    version, pipelines = side()
    print("answer", json.dumps(version), flush=True)
    for line in sys.stdin:
        began_s = time.perf_counter()
        count = sum(1 for _ in pipelines[line.strip()])
        print("answer", count / (time.perf_counter() - began_s), flush=True)


def _arrays() -> Any:
    import numpy as np

    return np.random.default_rng(0).random((ROWS, WIDTH), np.float32)


def _python_row(x: Any) -> Any:
    """What a user's own Python might do: branches on values, NumPy calls."""
    import numpy as np

    x = np.asarray(x)
    x = x - x.mean() if x[0] > 0.5 else x / x.max()
    return np.clip(np.roll(x, 3), -1.0, 1.0).astype(np.float32)


def _made(source: Any, functions: dict[str, Callable[..., Any]]) -> dict[str, Iterable[Any]]:
    """Make the pipelines, which are written the same for both."""
    rows = _arrays()
    made = {"shuffle": source(rows).cache().shuffle(ROWS).batch(BATCH).prefetch(2)}
    for name in ("normalise", "noise", "flip"):
        mapped = source(rows).cache().shuffle(ROWS).map(functions[name], num_parallel_calls=-1)
        made[name] = mapped.batch(BATCH).prefetch(2)
    opaque = source(rows[:OPAQUE_ROWS]).map(functions["opaque"], num_parallel_calls=-1)
    return made | {"opaque": opaque.batch(BATCH).prefetch(2)}


def _ours() -> tuple[str, dict[str, Iterable[Any]]]:
    import keras
    from keras import ops

    from manyhands.data import Dataset

    def normalise(x: Any) -> Any:
        return (x - 0.5) * 2.0

    def noise(x: Any) -> Any:
        return normalise(x) + 0.1 * keras.random.normal((WIDTH,))

    def flip(x: Any) -> Any:
        image = ops.reshape(normalise(x), (28, 28))
        return ops.where(keras.random.uniform(()) < 0.5, ops.flip(image, 1), image)

    functions = {"normalise": normalise, "noise": noise, "flip": flip, "opaque": _python_row}
    return keras.__version__, _made(Dataset.from_tensor_slices, functions)


def _tf_data() -> tuple[str, dict[str, Iterable[Any]]]:
    import tensorflow as tf

    def normalise(x: Any) -> Any:
        return (x - 0.5) * 2.0

    def noise(x: Any) -> Any:
        return normalise(x) + 0.1 * tf.random.normal((WIDTH,))

    def flip(x: Any) -> Any:
        image = tf.reshape(normalise(x), (28, 28))
        return tf.where(tf.random.uniform(()) < 0.5, tf.reverse(image, [1]), image)

    def opaque(x: Any) -> Any:
        out = tf.py_function(_python_row, [x], tf.float32)
        return tf.ensure_shape(out, (WIDTH,))

    functions = {"normalise": normalise, "noise": noise, "flip": flip, "opaque": opaque}
    return tf.__version__, _made(tf.data.Dataset.from_tensor_slices, functions)


SIDES = {"ours": _ours, "tf_data": _tf_data}

if __name__ == "__main__":
    main()
