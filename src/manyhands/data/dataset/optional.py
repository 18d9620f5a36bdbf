"""Optional: the next element of a pass, or nothing when the pass has ended.

In: an iterator.  Out: what `get_next_as_optional` gives, so that a loop can ask before it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from manyhands.errors import DataError, explain

_NOTHING = object()


class Optional:
    """A value that may not be there."""

    def __init__(self, value: Any = _NOTHING) -> None:
        self._value = value

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Hold a value."""
        return Optional(value)

    @staticmethod
    def empty(element_spec: Any = None) -> Optional:
        """Hold nothing."""
        del element_spec
        return Optional()

    def has_value(self, name: str | None = None) -> Any:
        """Whether there is one."""
        del name
        return jnp.asarray(self._value is not _NOTHING)

    def get_value(self, name: str | None = None) -> Any:
        """Give it."""
        del name
        if self._value is _NOTHING:
            raise DataError(
                explain(
                    "There is no value.",
                    got="an Optional of a pass that has ended",
                    fix="ask has_value() before get_value().",
                )
            )
        return self._value


def next_of(iterator: Iterator[Any]) -> Optional:
    """Take the next element of an iterator, if it has one."""
    value = next(iterator, _NOTHING)
    return Optional(value)
