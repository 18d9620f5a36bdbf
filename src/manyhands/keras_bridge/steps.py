"""Keras' own steps, called as TensorFlow's: `super().train_step(data)` in a model's own step.

In: data alone.  Out: what the step gives; the model's variables are changed.
"""

from __future__ import annotations

import functools
from typing import Any

from keras.src.backend.jax.trainer import JAXTrainer
from keras.src.trainers.trainer import Trainer

from manyhands.keras_bridge.patching import Patch
from manyhands.keras_bridge.roles import STATE_PARTS, Role
from manyhands.keras_bridge.state import own_variables
from manyhands.keras_bridge.variables import outside_of_steps

_build = Trainer._symbolic_build
"""Keras' own, as it was before anything was changed."""


def _step(original: Any, *, role: Role) -> Any:

    @functools.wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) != 1:
            return original(self, *args, **kwargs)
        data = args[0] if args else kwargs["data"]
        if role != "predict":
            with outside_of_steps():
                _build(self, data_batch=data)
        parts = [own_variables(self, part) for part in STATE_PARTS[role]]
        state = tuple([variable.value for variable in variables] for variables in parts)
        given, new = original(self, state, data)
        if role == "predict":
            parts, new = [parts[1]], [new]
        for variables, values in zip(parts, new, strict=True):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(value)
        return given

    return step


PATCHES = [
    Patch(
        JAXTrainer,
        f"{role}_step",
        functools.partial(_step, role=role),
        "a model's own step may call Keras' as TensorFlow's",
    )
    for role in STATE_PARTS
]
