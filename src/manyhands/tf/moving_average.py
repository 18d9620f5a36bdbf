"""tf.train.ExponentialMovingAverage: variables that follow others slowly.

In: variables, and how much of the past is kept.  Out: a variable beside each, which every `apply`
moves towards it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import keras

from manyhands.tf.control import init_scope
from manyhands.tf.tensor import tensor
from manyhands.tf.variable import Variable

_KINDS = ("bfloat16", "float16", "float32", "float64")


class ExponentialMovingAverage:
    """Averages of variables over their past, the present weighing most.

    Args:
        decay: the part of an average that is kept each time.
        num_updates: keep less while this is small: (1 + num_updates) / (10 + num_updates).
        zero_debias: accepted; averages begin with their variable's value, and have no bias.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        del zero_debias
        self.name = name
        self._decay = decay
        self._num_updates = num_updates
        self._averages: dict[int, tuple[Any, Variable]] = {}

    def apply(self, var_list: Iterable[Any] | None = None) -> None:
        """Move each variable's average towards it; make those that are not there yet."""
        followed = list(var_list or ())
        for variable in followed:
            self._begin(variable)
        rest = 1.0 - self._kept()
        for variable in followed:
            average = self._averages[id(variable)][1]
            far = average.value - tensor(variable)
            average.assign_sub(far * rest.astype(far.dtype))

    def average(self, var: Any) -> Variable | None:
        """Give the variable that follows this one; None where none does."""
        return self._averages.get(id(var), (var, None))[1]

    def _begin(self, variable: Any) -> None:
        if not isinstance(variable, keras.Variable):
            raise TypeError(f"{self.name} follows variables only, not a {type(variable).__name__}.")
        if variable.dtype not in _KINDS:
            raise TypeError(f"The variables must be half, float, or double: {variable.name}")
        if id(variable) in self._averages:
            return
        with init_scope():
            start = jnp.array(variable.value)  # its own: a step may use up the variable's
            made = Variable(start, trainable=False, name=f"{variable.name}/{self.name}")
        self._averages[id(variable)] = variable, made

    def _kept(self) -> Any:
        decay = tensor(self._decay, "float32")
        if self._num_updates is None:
            return decay
        count = tensor(self._num_updates, "float32")
        return jnp.minimum(decay, (1.0 + count) / (10.0 + count))
