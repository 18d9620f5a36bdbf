"""Call a user's function on an element, as tf.data would.

In: the function and an element.  Out: its result as an element.  A tuple is passed as separate
arguments, anything else as one.  Over 64-bit data JAX computes in 64 bits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax

from manyhands.data.dataset.randomness import halves, mapping_row
from manyhands.data.dataset.structure import TEXT, as_element, leaves, map_leaves
from manyhands.errors import DataError, explain

_WIDE = ("i8", "u8", "f8", "c16")

Emit = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row is: what its random keys depend on."""

    seed: int
    epoch: int
    position: int


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function, and how leaves are handed to it."""

    call: Callable[..., Any]
    emit: Emit
    stage: str

    def on(self, element: Any, place: Place) -> Any:
        """Call it on one element; its result as an element."""
        return as_result(self.raw(element, place))

    def raw(self, element: Any, place: Place) -> Any:
        """Call it on one element; whatever it returns."""
        with (
            jax.enable_x64(True) if is_wide(element) else nullcontext(),
            mapping_row(place.seed, halves(place.epoch), place.position),
        ):
            return self.spread(map_leaves(self.emit, element))

    def spread(self, element: Any) -> Any:
        """Call it with a tuple as separate arguments."""
        args = element if isinstance(element, tuple) else (element,)
        try:
            return self.call(*args)
        except TypeError as error:
            self._check_arity(len(args), error)
            raise

    def _check_arity(self, num_args: int, error: TypeError) -> None:
        try:
            signature = inspect.signature(self.call)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*range(num_args))
        except TypeError:
            raise DataError(
                explain(
                    f"The function given to {self.stage} takes other arguments than the elements.",
                    got=f"elements of {num_args} part(s), a function of {signature}",
                    fix="give it one parameter for each part of a tuple; a dict is one part.",
                )
            ) from error


def is_wide(element: Any) -> bool:
    """Whether some leaf has 64-bit numbers: then JAX computes in 64 bits as well."""
    return any(getattr(leaf, "dtype", TEXT).str[1:] in _WIDE for leaf in leaves(element))


def as_result(value: Any) -> Any:
    """Read what a function returned; a list counts as a tuple, as in tf.data."""
    return as_element(tuple(value) if isinstance(value, list) else value)
