"""`manyhands demo`: train a small model on every device, then on one, side by side."""

from __future__ import annotations

import argparse
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from manyhands import config
from manyhands.cli.devices import show
from manyhands.devices import table
from manyhands.errors import ManyhandsError, explain

BATCH_SIZE = 60
SPARKS = "▁▂▃▄▅▆▇█"


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("demo", help="train a small model on every device, beside one")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the data (default 12)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Train twice and compare."""
    console = Console()
    if not _has_gpu() and config.settings().virtual_devices is None:
        config.set_virtual_devices(4)
    found = table()
    show(found, console)
    data = _digits()
    many = _train(console, found.names, data, options.epochs)
    one = _train(console, found.names[:1], data, options.epochs)
    _compare(console, many, one)
    return 0


def _has_gpu() -> bool:
    from manyhands.devices import nvml

    return config.jax_may_use_gpus() and bool(nvml.read(config.visible_gpus()).gpus)


def _digits() -> tuple[Any, Any, Any, Any]:
    """Scikit-learn's 1,797 handwritten digits; every fifth is held out."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ManyhandsError(
            explain(
                "The demo trains on scikit-learn's handwritten digits.",
                got="scikit-learn is not installed",
                fix='run `pip install "manyhands[demo]"`, or `make demo` in a checkout.',
            )
        ) from error
    digits: Any = load_digits()
    x = (digits.images[..., None] / 16).astype("float32")
    y = digits.target.astype("int32")
    held_out = slice(None, None, 5)
    keep = [i for i in range(len(x)) if i % 5]
    return x[keep], y[keep], x[held_out], y[held_out]


def _train(console: Console, names: tuple[str, ...], data: Any, epochs: int) -> dict[str, Any]:
    import keras

    from manyhands.strategies import MirroredStrategy
    from manyhands.telemetry import Progress

    x, y, held_x, held_y = data
    console.rule(f"{len(names)} device{'s' * (len(names) > 1)}: {', '.join(names)}")
    keras.utils.set_random_seed(1)
    with MirroredStrategy(names).scope():
        model = keras.Sequential(
            [
                keras.Input((8, 8, 1)),
                keras.layers.Conv2D(16, 3, activation="relu"),
                keras.layers.BatchNormalization(),
                keras.layers.Conv2D(32, 3, activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dropout(0.3),
                keras.layers.Dense(10, activation="softmax"),
            ]
        )
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    began_s = time.perf_counter()
    bar = Progress(console)
    quiet: Any = {"verbose": 0}
    history = model.fit(x, y, batch_size=BATCH_SIZE, epochs=epochs, callbacks=[bar], **quiet)
    seconds = time.perf_counter() - began_s
    accuracy = model.evaluate(held_x, held_y, return_dict=True, **quiet)["accuracy"]
    return {
        "title": f"{len(names)} device{'s' * (len(names) > 1)}",
        "loss": history.history["loss"],
        "accuracy": accuracy,
        "seconds": seconds,
    }


def _compare(console: Console, many: dict[str, Any], one: dict[str, Any]) -> None:
    console.rule("side by side")
    rows = Table("epoch", f"loss on {many['title']}", f"loss on {one['title']}", "difference")
    pairs = list(zip(many["loss"], one["loss"], strict=True))
    for epoch, (a, b) in enumerate(pairs, 1):
        rows.add_row(str(epoch), f"{a:.6f}", f"{b:.6f}", f"{abs(a - b):.1e}")
    rows.add_section()
    rows.add_row("curve", _curve(many["loss"]), _curve(one["loss"]), "")
    rows.add_row("held-out accuracy", f"{many['accuracy']:.4f}", f"{one['accuracy']:.4f}", "")
    rows.add_row("seconds", f"{many['seconds']:.1f}", f"{one['seconds']:.1f}", "with compiling")
    console.print(rows)
    largest = max((abs(a - b) for a, b in pairs), default=0.0)
    console.print(f"Largest difference between the two loss curves: {largest:.1e} (float32).")


def _curve(values: list[float]) -> str:
    low, high = min(values), max(values)
    span = max(high - low, 1e-12)
    return "".join(SPARKS[round((v - low) / span * (len(SPARKS) - 1))] for v in values)
