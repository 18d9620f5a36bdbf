"""tf.Module: an object that knows the variables it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import keras


class Module:
    """Holds variables, layers and other modules in its attributes."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__.lower()

    @property
    def name(self) -> str:
        """Its name."""
        return getattr(self, "_name", type(self).__name__.lower())

    @property
    def name_scope(self) -> Any:
        """A scope for names; they are not needed here."""
        return nullcontext()

    @property
    def variables(self) -> tuple[Any, ...]:
        """Every variable in here, or in what is in here."""
        return tuple(_unique(_variables(self, set())))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those that training changes."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """Those that it does not."""
        return tuple(variable for variable in self.variables if not variable.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """Modules and layers in here."""
        return tuple(_modules(self, {id(self)}))

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        """The method itself."""
        return method


def _children(holder: Any) -> Iterator[Any]:
    if isinstance(holder, dict):
        yield from (holder[name] for name in sorted(holder, key=str))
    elif isinstance(holder, list | tuple):
        yield from holder
    elif isinstance(holder, Module):
        for name in sorted(vars(holder)):
            yield vars(holder)[name]


def _variables(holder: Any, seen: set[int]) -> Iterator[Any]:
    if id(holder) in seen:
        return
    seen.add(id(holder))
    if isinstance(holder, keras.Variable):
        yield holder
    elif isinstance(holder, keras.layers.Layer):
        yield from holder.variables
    else:
        for child in _children(holder):
            yield from _variables(child, seen)


def _modules(holder: Any, seen: set[int]) -> Iterator[Any]:
    for child in _children(holder):
        if isinstance(child, Module | keras.layers.Layer) and id(child) not in seen:
            seen.add(id(child))
            yield child
        yield from _modules(child, seen)


def _unique(variables: Iterator[Any]) -> list[Any]:
    return list({id(variable): variable for variable in variables}.values())
