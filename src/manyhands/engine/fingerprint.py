"""Tell whether two Python functions are the same, though one was made anew.

In: a function.  Out: a key; functions with one key run the same code on the same things.
A step defined inside a loop is a new object each time round; its code and what it closes over are
not.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any


class Same:
    """An object, known by its identity, and held so that the identity stays its own."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.held is other.held


FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def is_function(value: Any) -> bool:
    """Whether a value is a function of Python, a method, or a partial one."""
    return isinstance(value, FUNCTIONS)


def fingerprint(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Give the key of a function."""
    return _key(function, ())


def _key(function: Any, around: tuple[Any, ...]) -> tuple[Any, ...]:
    if isinstance(function, functools.partial):
        names = tuple(sorted(function.keywords))
        given = [*function.args, *(function.keywords[name] for name in names)]
        return (*_key(function.func, around), names, *(_known(value, around) for value in given))
    if isinstance(function, types.MethodType):
        return (Same(function.__self__), *_key(function.__func__, around))
    if not isinstance(function, types.FunctionType):
        return (Same(function),)
    if any(function is one for one in around):
        return (Same(function.__code__),)  # it calls itself
    within = (*around, function)
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    known = (_known(value, within) for value in [*cells, *defaults])
    return (Same(function.__code__), Same(function.__globals__), *known)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return cell


def _known(value: Any, around: tuple[Any, ...]) -> Any:
    if isinstance(value, bool | int | float | str | bytes | type(None)):
        return (type(value), value.hex() if isinstance(value, float) else value)  # -0.0, nan
    if is_function(value):
        return _key(value, around)
    return Same(value)
