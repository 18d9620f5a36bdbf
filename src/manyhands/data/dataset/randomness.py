"""Random numbers inside a map function: one key for each row.

In: the seed, epoch and position of the row being mapped.  Out: `row_key()`, and Keras' own random
functions and layers drawing from it.  The same row gets the same key whichever way the map runs.

Keras 3.15's `SeedGenerator.next` and its module's `global_seed_generator` are wrapped, once, when
a map function first runs; outside a map they do what they always did.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np


class NotTraceable(Exception):  # noqa: N818 - a signal, not an error that users see
    """Raised by what must run as plain Python (`py_function`), when it meets a traced value."""

    def __init__(self, *said: object) -> None:  # heard where a step is traced, even if it is caught
        super().__init__(*said)


@dataclass
class RowScope:
    """The row being mapped."""

    seed: Any
    epoch: Any
    position: Any
    num_drawn: int = 0

    def key(self, seed: int | None = None) -> jax.Array:
        """Give a fresh key; from a seed of its own where a generator has one."""
        count, self.num_drawn = self.num_drawn, self.num_drawn + 1
        begin = self.seed if seed is None else np.uint32(seed & 0xFFFFFFFF)
        return _folded(begin, *self.epoch, self.position, np.uint32(count))


class _Here(threading.local):
    scope: RowScope | None = None


_here = _Here()


def row_key() -> jax.Array | None:
    """Give a fresh JAX key for the row being mapped; None outside a map function.

    Depends on the dataset's seed, the epoch, the row's position and how many keys the function has
    asked for, so `tf.random` and augmentation built on it differ by row and repeat exactly.
    """
    return None if _here.scope is None else _here.scope.key()


@contextmanager
def mapping_row(seed: Any, epoch: Any, position: Any) -> Iterator[RowScope]:
    """Say which row is being mapped; epoch as its two 32-bit halves."""
    wrap_keras()
    before, _here.scope = _here.scope, RowScope(seed, epoch, position)
    try:
        # Random bits that need not be split over devices cost half.
        with jax.threefry_partitionable(False):
            yield _here.scope
    finally:
        _here.scope = before


def halves(epoch: Any) -> tuple[Any, Any]:
    """Cut an epoch's number, or an array of them, into 32-bit halves."""
    wide = np.asarray(epoch, np.uint64)
    return (wide >> np.uint64(32)).astype(np.uint32), wide.astype(np.uint32)


@jax.jit
def _folded(seed: Any, *numbers: Any) -> jax.Array:
    key = jax.random.PRNGKey(seed)
    for number in numbers:
        key = jax.random.fold_in(key, number)
    return key


@functools.cache
def wrap_keras() -> None:
    """Let Keras' generators answer with the row's key while a row is mapped."""
    import keras
    from keras.src.random import seed_generator  # its global generator has no public name

    def wrap(function: Any, inside: Any) -> Any:
        @functools.wraps(function)
        def chosen(*args: Any, **kwargs: Any) -> Any:
            scope = _here.scope
            return function(*args, **kwargs) if scope is None else inside(scope, *args)

        return chosen

    generator = keras.random.SeedGenerator
    generator.next = wrap(generator.next, _next)
    seed_generator.global_seed_generator = wrap(
        seed_generator.global_seed_generator, lambda _scope: _RowGenerator()
    )


def _next(scope: RowScope, generator: Any, *_: Any) -> jax.Array:
    return scope.key(generator.get_config()["seed"])


class _RowGenerator:
    """Stands for Keras' global generator while a row is mapped."""

    def next(self, ordered: bool = True) -> jax.Array | None:  # noqa: ARG002 - Keras' signature
        return row_key()
