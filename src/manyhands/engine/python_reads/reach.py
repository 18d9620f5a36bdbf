"""From a function that runs to every place that it can read.

In: frames, when a function is called.  Out: a Watch for each place, with what it held before the
function did anything.
A function reads what it names: globals, what it closes over, attributes of what it reaches so, the
contents of containers at any depth, and what other functions give to it.
"""

from __future__ import annotations

import contextvars
import functools
import gc
import random
import sys
import types
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import keras
import numpy as np

from manyhands.engine.fingerprint import is_function
from manyhands.engine.python_reads import world
from manyhands.engine.python_reads.names import Names, names_of
from manyhands.engine.python_reads.owners import Owner, is_a_librarys, is_programs, owner_of_module
from manyhands.engine.python_reads.watches import (
    PLAIN,
    Array,
    Fields,
    Items,
    State,
)

_RANDOM = (np.random.RandomState, np.random.Generator, random.Random)
CONTAINERS = (list, dict, set, deque, types.MappingProxyType)


class UnfollowedError(Exception):
    """A function reads what no watch can follow; the message says what."""


class Reach:
    """What the functions of one step have reached."""

    def __init__(self) -> None:
        self.watches: dict[Any, Any] = {}
        self.made: set[int] = set()
        """Objects that the step made itself."""
        self._held: dict[int, Any] = {}
        self.places: dict[int, int] = {}
        """How many places hold each object."""
        self._opened: set[tuple[int, int]] = set()
        self._ran: set[int] = set()
        """Functions whose cells are known: reached, or made by a function that ran."""

    # what happens

    def root(self, value: Any) -> None:
        """Take an object that the step is given."""
        self._open([value], _NOTHING)

    def function(self, frame: types.FrameType, *, by_library: bool) -> None:
        """See what a function can read, before it runs."""
        code = frame.f_code
        names = names_of(code)
        self._see_cells(code)
        found = self._global_names(frame, names)
        found += [sys.modules[name] for name in names.imports if name in sys.modules]
        for value in list(frame.f_locals.values()):
            if id(value) in self._held or (by_library and self._is_somebodys(value)):
                found.append(value)
        self._open(found, names)

    def returned(self, frame: types.FrameType, value: Any) -> None:
        """See what a function is given by one that it called."""
        if id(value) in self._held:
            self._open([value], names_of(frame.f_code))

    def forget(self) -> None:
        """Let go of what was only needed while the step ran."""
        self._held.clear()
        self._opened.clear()
        self.made.clear()

    # how it is followed

    def _global_names(self, frame: types.FrameType, names: Names) -> list[Any]:
        held = frame.f_globals
        builtins = frame.f_builtins
        read = [name for name in names.names if name in held or name in builtins]
        fields = self._fields(held.get("__name__", "globals"), held)
        return self._seen(fields.add(read)) + [held[name] for name in read if name in held]

    def _see_cells(self, code: types.CodeType) -> None:
        """Find the function of a code that closes over something and that nobody has reached."""
        inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
        self._ran.update(map(id, inner))
        if not code.co_freevars or id(code) in self._ran:
            return
        self._ran.add(id(code))
        functions = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType)]
        self._open([f for f in functions if f.__code__ is code], _NOTHING)

    def _is_somebodys(self, value: Any) -> bool:
        """Whether a library hands a function an object that was there before the step."""
        return (
            id(value) not in self.made
            and not isinstance(value, (*PLAIN, *CONTAINERS, tuple, type))
            and (is_programs(type(value)) or isinstance(value, keras.layers.Layer))
        )

    def _open(self, values: Iterable[Any], names: Names) -> None:
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if isinstance(value, PLAIN) or (id(value), id(names)) in self._opened:
                continue
            self._opened.add((id(value), id(names)))
            self._held[id(value)] = value
            waiting.extend(self._inside(value, names))

    def _inside(self, value: Any, names: Names) -> list[Any]:
        """Watch one object, and give what a function with these names reaches through it."""
        if isinstance(value, jax.Array | keras.Variable):
            return []
        if isinstance(value, tuple | frozenset):
            return [*value, *self._attributes(value, names)]
        if isinstance(value, CONTAINERS):
            return self._contents(value) + self._attributes(value, names)
        if isinstance(value, np.ndarray):
            return self._numbers(value)
        if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
            return self._parts(value, names)
        if isinstance(value, types.ModuleType):
            return self._module(value, names)
        if isinstance(value, type):
            return self._class(value, names)
        return self._object(value, names)

    def _contents(self, value: Any) -> list[Any]:
        watch = self.watches.get(("items", id(value)))
        if watch is None:
            watch = self.watches["items", id(value)] = Items(value)
            self._seen(watch.values())
        keys = list(value) if isinstance(value, Mapping) else []
        return [*keys, *watch.values()]

    def _numbers(self, value: np.ndarray) -> list[Any]:
        if value.dtype.hasobject:
            raise UnfollowedError("it reads a NumPy array of Python objects")
        self.watches.setdefault(id(value), Array(value))
        held = getattr(value, "__dict__", None)
        return self._fill(value, held, held) if held else []

    def _parts(self, value: Any, names: Names) -> list[Any]:
        """What a function carries along: cells, defaults, attributes."""
        if isinstance(value, functools.partial):
            return [value.func, *value.args, *value.keywords.values()]
        if isinstance(value, types.MethodType):
            function = value.__func__
            return [value.__self__, *([function] if is_function(function) else [])]
        self._ran.add(id(value.__code__))
        if not is_programs(value):
            return []
        self._watch_function(value)
        found = [cell for cell in value.__closure__ or () if self._watch_cell(cell)]
        contents = [cell.cell_contents for cell in found]
        self._seen(contents)
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return [*contents, *defaults, *self._attributes(value, names)]

    def _watch_function(self, value: types.FunctionType) -> None:
        def read() -> Any:
            return (value.__code__, value.__defaults__, *(value.__kwdefaults__ or {}).items())

        self.watches.setdefault(id(value), State(f"{value.__name__}'s defaults", read))
        self._held[id(value)] = value

    def _watch_cell(self, cell: Any) -> bool:
        def read() -> Any:
            try:
                return cell.cell_contents
            except ValueError:  # not set yet
                return _EMPTY

        def put(value: Any) -> None:
            cell.cell_contents = value

        self.watches.setdefault(id(cell), State("a variable around the step", read, put))
        self._held[id(cell)] = cell
        return read() is not _EMPTY

    def _module(self, value: types.ModuleType, names: Names) -> list[Any]:
        held = vars(value)
        read = [name for name in names.names if name in held]
        if owner_of_module(value.__name__) in (Owner.LIBRARY, Owner.KERAS):
            return [part for name in read for part in _outside_of_library(held[name])]
        return self._fill(value, held, read)

    def _class(self, value: type, names: Names) -> list[Any]:
        found: list[Any] = []
        for kind in value.__mro__:
            if is_programs(kind):
                held = vars(kind)
                everything = (name for name in held if not name.startswith("__"))
                read = everything if names.reads_anything else names.names
                found += self._fill(kind, held, [name for name in read if name != "__dict__"])
        return [part for part in found if not isinstance(part, property | types.MethodType)]

    def _object(self, value: Any, names: Names) -> list[Any]:
        if isinstance(value, _builtin):
            return [value.__self__] if isinstance(value.__self__, _RANDOM) else []
        if isinstance(value, _RANDOM):
            self.watches.setdefault(id(value), _random_state(value))
            return []
        if isinstance(value, contextvars.ContextVar):
            read = functools.partial(value.get, _EMPTY)
            self.watches.setdefault(id(value), State(value.name, read))
            return [value.get(_EMPTY)]
        if isinstance(value, bytearray | memoryview):
            self.watches.setdefault(id(value), State("a buffer", lambda: bytes(value)))
            return []
        if world.is_used_up(value):
            raise UnfollowedError(f"it reads from a {type(value).__name__} made outside of it")
        if world.is_fixed(value) or is_a_librarys(value):
            return []
        if world.hides_memory(value):
            raise UnfollowedError(
                f"it reads a {type(value).__qualname__}, whose inside Python does not show"
            )
        return self._attributes(value, names)

    def _attributes(self, value: Any, names: Names) -> list[Any]:
        found = self._class(type(value), names) if type(value).__module__ != "builtins" else []
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict) and names.reads_anything:
            found += self._contents(held)
        elif isinstance(held, dict):
            read = names.names
            kept = isinstance(value, keras.layers.Layer | keras.optimizers.Optimizer)
            read = [n for n in read if n in held] if kept else read
            found += self._fill(value, held, read)
        for name in world.slots_of(value) if type(value).__module__ != "builtins" else ():
            if names.reads_anything or name in names.names:
                found += self._slot(value, name)
        return found

    def _slot(self, value: Any, name: str) -> list[Any]:
        key = hash((id(value), name))
        read = functools.partial(getattr, value, name, _EMPTY)
        put = functools.partial(setattr, value, name)
        self.watches.setdefault(key, State(f"{name} of a {type(value).__name__}", read, put))
        return self._seen(self.watches[key].values())

    def _fill(self, of: Any, held: Any, names: Iterable[str]) -> list[Any]:
        names = list(names)
        self._seen(self._fields(of, held).add(names))
        return [held[name] for name in names if name in held]

    def _fields(self, of: Any, held: Any) -> Fields:
        key = id(of) if isinstance(of, type) else id(held)
        watch = self.watches.get(key)
        if watch is None:
            self._held[id(held)] = held
            watch = self.watches[key] = Fields(of, held)
        return watch

    def _seen(self, values: Iterable[Any]) -> list[Any]:
        """Count the places that hold each object."""
        values = [value for value in values if not isinstance(value, PLAIN)]
        for value in values:
            self.places[id(value)] = self.places.get(id(value), 0) + 1
        return values


_builtin = types.BuiltinFunctionType


def _outside_of_library(part: Any) -> list[Any]:
    """Of what a library's module holds: its modules, and the random state behind a function."""
    if isinstance(part, types.ModuleType):
        return [part]
    owner = getattr(part, "__self__", None)
    return [owner] if isinstance(owner, _RANDOM) else []


_EMPTY = type("Empty", (), {})()
_NOTHING = Names(frozenset(), (), False)


def _random_state(value: Any) -> State:
    if isinstance(value, random.Random):
        return State("a random state", value.getstate, value.setstate)
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        return State("a random state", lambda: _Frozen(bits.state), lambda s: _put(bits, s))
    return State(
        "a random state",
        lambda: _Frozen(value.get_state(legacy=False)),
        lambda frozen: value.set_state(frozen.state),
    )


def _put(bits: Any, frozen: _Frozen) -> None:
    bits.state = frozen.state


class _Frozen(tuple):
    """A random generator's state, which can be compared."""

    state: Any

    def __new__(cls, state: Any) -> _Frozen:
        made = super().__new__(cls, _flat(state))
        made.state = state
        return made


def _flat(state: Any) -> list[Any]:
    if isinstance(state, dict):
        return [part for name, value in state.items() for part in (name, *_flat(value))]
    return [state.tobytes()] if isinstance(state, np.ndarray) else [state]
