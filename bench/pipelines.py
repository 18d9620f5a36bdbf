"""Input pipelines, ours and tf.data's, in one run.

python -m bench.pipelines                 prints a table, writes bench/results/pipelines.json
python -m bench.pipelines ours            one side only, as JSON (what the run above starts twice)
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
        print(json.dumps(SIDES[sys.argv[1]]()))
        return
    from rich.console import Console
    from rich.table import Table

    from bench import tf_environment
    from bench.machine import describe

    ours = _side(sys.executable, "ours", KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
    theirs = _side(tf_environment.python(), "tf_data", TF_CPP_MIN_LOG_LEVEL="3")
    machine = describe()
    machine["versions"]["tensorflow"] = theirs.pop("version")
    rows = []
    table = Table("pipeline", "ours, batches/s", "tf.data, batches/s", "ratio", "wanted")
    for name, says in SAYS.items():
        ratio = ours[name] / theirs[name]
        row = {"pipeline": name, "ours_per_s": ours[name], "tf_data_per_s": theirs[name]}
        rows.append(row | {"ratio": round(ratio, 2), "wanted": WANTED[name]})
        speeds = (f"{ours[name]:,.0f}", f"{theirs[name]:,.0f}")
        table.add_row(says, *speeds, f"{ratio:.2f}", f"{WANTED[name]:.0f}")
    Console(width=110).print(table)
    found = {"command": "python -m bench.pipelines", "machine": machine, "rows": rows}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


def _side(python: str, name: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, "-m", "bench.pipelines", name],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def _per_second(dataset: Iterable[Any]) -> float:
    """Batches a second: median of several epochs, after one that warms up."""
    found = []
    for _ in range(EPOCHS + 1):
        began_s = time.perf_counter()
        count = sum(1 for _ in dataset)
        found.append(count / (time.perf_counter() - began_s))
    return round(statistics.median(found[1:]), 1)


def _arrays() -> Any:
    import numpy as np

    return np.random.default_rng(0).random((ROWS, WIDTH), np.float32)


def _python_row(x: Any) -> Any:
    """What a user's own Python might do: branches on values, NumPy calls."""
    import numpy as np

    x = np.asarray(x)
    x = x - x.mean() if x[0] > 0.5 else x / x.max()
    return np.clip(np.roll(x, 3), -1.0, 1.0).astype(np.float32)


def _measured(source: Any, rows: Any, functions: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """Measure the pipelines, which are written the same for both."""
    found = {"shuffle": _per_second(source(rows).cache().shuffle(ROWS).batch(BATCH).prefetch(2))}
    for name in ("normalise", "noise", "flip"):
        mapped = source(rows).cache().shuffle(ROWS).map(functions[name], num_parallel_calls=-1)
        found[name] = _per_second(mapped.batch(BATCH).prefetch(2))
    opaque = source(rows[:OPAQUE_ROWS]).map(functions["opaque"], num_parallel_calls=-1)
    return found | {"opaque": _per_second(opaque.batch(BATCH).prefetch(2))}


def _ours() -> dict[str, Any]:
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
    return _measured(Dataset.from_tensor_slices, _arrays(), functions)


def _tf_data() -> dict[str, Any]:
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
    found = _measured(tf.data.Dataset.from_tensor_slices, _arrays(), functions)
    return found | {"version": tf.__version__}


SIDES = {"ours": _ours, "tf_data": _tf_data}

if __name__ == "__main__":
    main()
