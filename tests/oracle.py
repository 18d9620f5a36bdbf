"""The oracle: the same program in plain Keras on one device.

A Case builds a model and its data.  `train` runs it, plainly or under a strategy over the first n
devices, and returns everything a user could compare; `assert_same` compares all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
import keras
import numpy as np

import manyhands as mh


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], keras.Model]
    data: Callable[[], dict[str, Any]]
    fit: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


@dataclass
class Outcome:
    history: dict[str, list[float]]
    weights: list[np.ndarray]
    optimizer: list[np.ndarray]
    evaluated: dict[str, float]
    predicted: Any


def train(case: Case, num_devices: int | None) -> Outcome:
    """Run a case plainly (None) or on the first `num_devices` devices."""
    scope: Any = nullcontext()
    if num_devices is not None:
        scope = mh.MirroredStrategy([f"cpu:{i}" for i in range(num_devices)]).scope()
    return train_in(scope, case)


def train_in(scope: Any, case: Case, seed: int = 7) -> Outcome:
    """Run a case whose model is made in a scope."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(seed)
    data = case.data()
    x, rest = data["x"], {k: v for k, v in data.items() if k != "x"}
    with scope:
        model = case.build()
    arguments = {"batch_size": 10, "epochs": 2, "verbose": 0} | case.fit
    history = model.fit(x, **rest, **arguments)
    # Read before `evaluate`: after an EMA overwrite plain Keras gives away a shared buffer there.
    optimizer = [v.numpy() for v in model.optimizer.variables]
    size = {k: arguments[k] for k in ("batch_size",) if arguments.get(k)}
    quiet = {k: v for k, v in rest.items() if k in ("y", "sample_weight")}
    evaluated = model.evaluate(x, **quiet, **size, verbose=0, return_dict=True)
    return Outcome(
        history=history.history,
        weights=model.get_weights(),
        optimizer=optimizer,
        evaluated=evaluated,
        predicted=model.predict(x, **size, verbose=0),
    )


def assert_same(got: Outcome, wanted: Outcome, rtol: float, atol: float | None = None) -> None:
    """Compare history, weights, optimizer state, evaluation and predictions."""
    tolerance = {"rtol": rtol, "atol": rtol if atol is None else atol}
    assert got.history.keys() == wanted.history.keys()
    for name, values in wanted.history.items():
        np.testing.assert_allclose(got.history[name], values, **tolerance, err_msg=name)
    for name, value in wanted.evaluated.items():
        np.testing.assert_allclose(got.evaluated[name], value, **tolerance, err_msg=name)
    for kind in ("weights", "optimizer"):
        pairs = zip(getattr(got, kind), getattr(wanted, kind), strict=True)
        for i, (one, other) in enumerate(pairs):
            np.testing.assert_allclose(one, other, **tolerance, err_msg=f"{kind}[{i}]")
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, **tolerance),
        got.predicted,
        wanted.predicted,
    )
