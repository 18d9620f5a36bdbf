"""A model's metrics between two epochs, without a launch for each of them.

In: a model.  Out: whether its last logs say it all; its metrics, reset in one go.
Only where Keras' own code would compute the same: anybody else's metric or step goes Keras' way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend.jax.trainer import JAXTrainer
from keras.src.trainers.trainer import Trainer

from manyhands.keras_bridge.session import session_of

_KERAS_OWN = ("keras.src.metrics.", "keras.src.trainers.compile_utils")


def logs_are_results(model: Any) -> bool:
    """Whether the last step's logs are what the metrics would give when asked."""
    kind = type(model)
    return (
        kind.train_step is JAXTrainer.train_step
        and kind.test_step is JAXTrainer.test_step
        and kind.get_metrics_result is Trainer.get_metrics_result
        and kind.compute_metrics is Trainer.compute_metrics
        and _are_keras_own(model)
    )


def reset(model: Any, place: Callable[[list[Any]], list[Any]]) -> bool:
    """Reset metrics to the values that Keras' way gave the first time; False: go Keras' way."""
    variables = model.metrics_variables
    if not variables or not _are_keras_own(model):
        return False
    known = tuple(map(id, variables))
    session = session_of(model)
    remembered = session.cleared_metrics
    if remembered is None or remembered[0] != known:
        for metric in model.metrics:
            metric.reset_state()
        values = [np.asarray(variable.value) for variable in variables]
        session.cleared_metrics = known, values
        return True
    for variable, value in zip(variables, place(remembered[1]), strict=True):
        variable._value = value
    return True


def _are_keras_own(model: Any) -> bool:
    return all(type(metric).__module__.startswith(_KERAS_OWN) for metric in _flat(model.metrics))


def _flat(metrics: list[Any]) -> list[Any]:
    found = []
    for metric in metrics:
        found.append(metric)
        found.extend(_flat(getattr(metric, "metrics", None) or []))
    return found
