"""Settings that operations depend on, and that no object shows.

In: an object that a step reads.  Out: the setting behind it is watched: decimal's precision and
rounding, and which classes are registered as subclasses of others.
"""

from __future__ import annotations

import abc
import decimal
import types
from typing import Any

from manyhands.engine.python_reads.registry import Registry

_OF_DECIMAL = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def watch_settings(value: Any, registry: Registry) -> None:
    """Watch what an object's operations depend on besides itself."""
    if isinstance(value, abc.ABCMeta):
        registry.state("registered", "the registered subclasses", abc.get_cache_token)
    elif _is_decimals(value):
        registry.state("decimal", "decimal's context", _context, _set_context)


def _is_decimals(value: Any) -> bool:
    if isinstance(value, type | types.BuiltinFunctionType):
        return value.__module__ == "decimal"
    return value is decimal or isinstance(value, decimal.Decimal | decimal.Context)


def _context() -> tuple[Any, ...]:
    context = decimal.getcontext()
    return tuple(getattr(context, name) for name in _OF_DECIMAL)


def _set_context(then: tuple[Any, ...]) -> None:
    for name, value in zip(_OF_DECIMAL, then, strict=True):
        setattr(decimal.getcontext(), name, value)
