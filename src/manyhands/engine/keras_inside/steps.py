"""Keras' own steps, called as TensorFlow's: `super().train_step(data)` in a model's own step.

In: data alone.  Out: what the step gives; the model's variables are changed.
"""

from __future__ import annotations

import functools
from typing import Any

from keras.src.backend.jax.trainer import JAXTrainer
from keras.src.trainers.trainer import Trainer

from manyhands.engine.keras_inside.state import own_variables
from manyhands.engine.keras_inside.variables import outside_of_steps
from manyhands.engine.roles import STATE_PARTS, Role


def install_steps() -> None:
    """Teach Keras' trainer, once a process."""
    for role in STATE_PARTS:
        _wrap_step(role)


def _wrap_step(role: Role) -> None:
    name = f"{role}_step"
    original, build = getattr(JAXTrainer, name), Trainer._symbolic_build

    @functools.wraps(original)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) != 1:
            return original(self, *args, **kwargs)
        data = args[0] if args else kwargs["data"]
        if role != "predict":
            with outside_of_steps():
                build(self, data_batch=data)
        parts = [own_variables(self, part) for part in STATE_PARTS[role]]
        state = tuple([variable.value for variable in variables] for variables in parts)
        given, new = original(self, state, data)
        if role == "predict":
            parts, new = [parts[1]], [new]
        for variables, values in zip(parts, new, strict=True):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(value)
        return given

    setattr(JAXTrainer, name, step)
