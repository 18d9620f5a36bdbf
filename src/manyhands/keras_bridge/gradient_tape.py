"""GradientTape as TensorFlow's users know it.

In: what runs inside `with GradientTape() as tape:`.  Out: `tape.gradient(target, sources)`.
Works eagerly and inside steps that are compiled; the arithmetic is `tape.Tape`'s.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from manyhands.engine.tape import Tape
from manyhands.errors import TapeError, explain
from manyhands.keras_bridge.step_scope import current_step
from manyhands.keras_bridge.variables import value_of
from manyhands.tracebacks import for_the_program


class GradientTape:
    """Records operations, to differentiate them.

    Args:
        persistent: whether `gradient` and `jacobian` may be called more than once.
        watch_accessed_variables: whether reading a trainable variable watches it.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        _install()
        self._tape = Tape(persistent=persistent, watch_accessed_variables=watch_accessed_variables)

    def __enter__(self) -> GradientTape:
        self._tape.begin()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._tape.is_recording:
            self._tape.end()
        for_the_program.__exit__(kind, error, trace)

    def watch(self, tensor: Any) -> None:
        """Differentiate with respect to these tensors or variables, too."""
        for one in jax.tree.leaves(tensor):
            if isinstance(one, keras.Variable):
                self._tape.watch_read(one, _present_value(one))
            else:
                self._tape.watch(one)

    def watched_variables(self) -> tuple[Any, ...]:
        """List the variables that were read, in that order."""
        return tuple(self._tape.read_variables())

    def stop_recording(self) -> AbstractContextManager[None]:
        """Record nothing inside."""
        return self._tape.stop_recording()

    def reset(self) -> None:
        """Forget what was recorded."""
        self._tape.reset()

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Any:
        """Differentiate the sum of the targets with respect to each source.

        None (or zeros, with `unconnected_gradients="zero"`) where nothing connects the two.
        """
        zero = _wants_zeros(unconnected_gradients)
        self._tape.use()
        leaves, structure = jax.tree.flatten(sources)
        with for_the_program:
            found = self._tape.gradient(_values(target), leaves, output_gradients)
        self._tape.used()
        return jax.tree.unflatten(structure, _filled(found, leaves, zero=zero))

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Differentiate each element of the target: its dims lead, the source's follow."""
        del parallel_iterations, experimental_use_pfor
        zero = _wants_zeros(unconnected_gradients)
        self._tape.use()
        leaves, structure = jax.tree.flatten(sources)
        target = _values(target)
        with for_the_program:
            found = self._tape.jacobian(target, leaves)
        self._tape.used()
        return jax.tree.unflatten(
            structure, _filled(found, leaves, zero=zero, leading=np.shape(target))
        )

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Differentiate each row of the target with respect to the same row of the source."""
        del parallel_iterations, experimental_use_pfor
        rows = np.shape(target)[0]
        if np.shape(source)[0] != rows:
            raise TapeError(
                explain(
                    "batch_jacobian needs as many rows in the target as in the source.",
                    got=f"target {np.shape(target)}, source {np.shape(source)}",
                    fix="use jacobian, or make the first dims equal.",
                )
            )
        full = self.jacobian(target, source, unconnected_gradients)
        if full is None:
            return None
        kept = jnp.moveaxis(full, np.ndim(target), 1)
        return kept[jnp.arange(rows), jnp.arange(rows)]


def _present_value(variable: Any) -> Any:
    step = current_step()
    return value_of(variable) if step is None else step.get_current_value(variable)


def _values(target: Any) -> Any:
    return jax.tree.map(lambda t: t.value if isinstance(t, keras.Variable) else t, target)


def _wants_zeros(unconnected: Any) -> bool:
    name = str(getattr(unconnected, "value", unconnected)).lower()
    if name not in ("none", "zero"):
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected!r}. Use 'none' or 'zero'."
        )
    return name == "zero"


def _filled(
    found: list[Any], sources: list[Any], *, zero: bool, leading: tuple[int, ...] = ()
) -> list[Any]:
    if not zero:
        return found
    return [
        jnp.zeros((*leading, *np.shape(source)), source.dtype) if one is None else one
        for one, source in zip(found, sources, strict=True)
    ]


def _install() -> None:
    from manyhands.keras_bridge.install import install  # which knows of tapes, through steps

    install()
