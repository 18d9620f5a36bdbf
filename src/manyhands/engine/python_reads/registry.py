"""The watches of one step: one for each object, made when the object is first seen.

In: objects.  Out: their watches, and what those hold, which may be looked into further.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from manyhands.engine.python_reads.watches import Array, Code, Fields, Items, Kind, State


class Registry:
    """Watches by what they watch."""

    def __init__(self) -> None:
        self.watches: dict[Any, Any] = {}
        self.places: dict[int, int] = {}
        """How many places hold each object."""
        self.held: dict[int, Any] = {}
        """What has been seen, held so that an identity stays its own."""

    def fields(self, of: Any, held: Any, names: Iterable[str]) -> list[Any]:
        """Watch names in a dictionary; give what they hold."""
        names = list(names)
        key = ("fields", id(of) if isinstance(of, type) else id(held))
        watch = self.watches.get(key)
        if watch is None:
            self.held[id(held)] = held
            watch = self.watches[key] = Fields(of, held)
        self._count(watch.add(names))
        return [held[name] for name in names if name in held]

    def items(self, held: Any) -> list[Any]:
        """Watch everything in a container; give it, keys too."""
        watch = self.watches.get(id(held))
        if watch is None:
            self.held[id(held)] = held
            watch = self.watches[id(held)] = Items(held)
            self._count(watch.values())
        keys = list(dict.keys(held)) if isinstance(held, dict) else []
        return [*keys, *watch.values()]

    def array(self, held: np.ndarray) -> None:
        """Watch an array's numbers."""
        if id(held) not in self.watches:
            self.watches[id(held)] = Array(held)

    def function(self, held: types.FunctionType) -> None:
        """Watch a function's code and defaults."""
        if id(held) not in self.watches:
            self.held[id(held)] = held
            self.watches[id(held)] = Code(held)

    def kind(self, of: Any) -> None:
        """Watch an object's class."""
        if ("kind", id(of)) not in self.watches:
            self.watches["kind", id(of)] = Kind(of)

    def state(
        self, key: Any, name: str, read: Callable[[], Any], put: Callable[[Any], None] | None = None
    ) -> Any:
        """Watch what a function gives; give that."""
        if key not in self.watches:
            self.watches[key] = State(name, read, put)
            self._count(self.watches[key].values())
        return read()

    def move(self, before: int, after: int) -> None:
        """Note that an object has taken another's place."""
        if before in self.watches:
            self.watches[after] = self.watches.pop(before)
        self.places.pop(before, None)
        self.places[after] = 1

    def _count(self, values: Iterable[Any]) -> None:
        for value in values:
            self.places[id(value)] = self.places.get(id(value), 0) + 1
