"""Call a user's function on an element, as tf.data would.

In: the function and an element.  Out: its result as an element.  A tuple is passed as separate
arguments, anything else as one.  Over 64-bit data JAX computes in 64 bits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np

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
            on_cpu(is_wide(element)),
            mapping_row(place.seed, halves(place.epoch), place.position),
        ):
            return self.spread(map_leaves(lambda leaf: self.emit(_own(leaf)), element))

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


def _own(leaf: Any) -> Any:
    """A function may write into its argument; what JAX computed is read-only."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and not leaf.flags.writeable else leaf


@contextmanager
def on_cpu(wide: bool) -> Iterator[None]:
    """Let JAX compute on the CPU, in 64 bits where the data has them."""
    with jax.default_device(_cpu()), jax.enable_x64(True) if wide else nullcontext():
        yield


@cache
def _cpu() -> Any:
    """Find the CPU device; None, JAX's own choice, where JAX was told to have none."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def is_wide(element: Any) -> bool:
    """Whether some leaf has 64-bit numbers: then JAX computes in 64 bits as well."""
    return any(getattr(leaf, "dtype", TEXT).str[1:] in _WIDE for leaf in leaves(element))


def as_result(value: Any) -> Any:
    """Read what a function returned; a list counts as a tuple, as in tf.data."""
    return as_element(tuple(value) if isinstance(value, list) else value)
