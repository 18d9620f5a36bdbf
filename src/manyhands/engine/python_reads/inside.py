"""What a function reaches through one object: attributes it names, items, cells, hidden state.

In: an object, the names of a function's code, a Registry.  Out: the object's own state is watched,
and what lies behind it is given, to be looked into in turn.
Raises UnfollowedError for what no watch can follow.
"""

from __future__ import annotations

import contextvars
import functools
import gc
import inspect
import random
import threading
import types
import weakref
from collections import deque
from typing import Any

import jax
import keras
import numpy as np

from manyhands.engine.fingerprint import is_function
from manyhands.engine.python_reads import world
from manyhands.engine.python_reads.names import Names
from manyhands.engine.python_reads.owners import Owner, is_a_librarys, is_programs, owner_of_module
from manyhands.engine.python_reads.registry import Registry
from manyhands.engine.python_reads.settings import watch_settings
from manyhands.engine.python_reads.watches import MISSING, PLAIN

_RANDOM = (np.random.RandomState, np.random.Generator, random.Random)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_CACHED = type(functools.lru_cache(lambda: None))
_ENTRY = "_lru_list_elem"
_BUILTIN = types.BuiltinFunctionType
_BY_NAME = (getattr, hasattr, setattr, vars, dir)
_OF_A_VARIABLE = {"aggregation", "synchronization"}
CONTAINERS = (list, dict, set, deque)


class UnfollowedError(BaseException):
    """A function reads what no watch can follow; the message says what.

    No `except Exception` of a program is meant for it.
    """


def inside(value: Any, names: Names, registry: Registry) -> list[Any]:
    """Watch one object, and give what a function with these names reaches through it."""
    if isinstance(value, jax.Array):
        return []
    if isinstance(value, keras.Variable):
        return _variable(value, registry)
    watch_settings(value, registry)
    for kinds, look in _LOOKS:
        if isinstance(value, kinds):
            return look(value, names, registry)
    return _object(value, names, registry)


def _variable(value: Any, registry: Registry) -> list[Any]:
    """What a program has set on a variable; its value is an input of the step."""
    held = vars(value)
    extra = [name for name in held if not name.startswith("_") and name not in _OF_A_VARIABLE]
    before = set(held)

    def put(_: Any) -> None:
        for name in set(held) - before:
            del held[name]

    key = ("size", id(value))
    registry.state(key, "an attribute of a variable", held.__len__, put)
    return registry.fields(value, held, extra)


def _sequence(value: Any, names: Names, registry: Registry) -> list[Any]:
    return [*value, *_attributes(value, names, registry)]


def _contents(value: Any, names: Names, registry: Registry) -> list[Any]:
    return registry.items(value) + _attributes(value, names, registry)


def _numbers(value: np.ndarray, names: Names, registry: Registry) -> list[Any]:
    if value.dtype.hasobject:
        raise UnfollowedError("it reads a NumPy array of Python objects")
    registry.array(value)
    kind = _class(type(value), names, registry) if is_programs(type(value)) else []
    return [*kind, *_whole(value, registry)] if type(value) is not np.ndarray else []


def _function(value: types.FunctionType, names: Names, registry: Registry) -> list[Any]:
    """A function carries along: cells, defaults, attributes."""
    if owner_of_module(value.__module__ or "") in (Owner.LIBRARY, Owner.KERAS):
        return []
    registry.function(value)
    contents = [_cell(cell, registry) for cell in value.__closure__ or ()]
    defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    return [*contents, *defaults, *_attributes(value, names, registry)]


def _cell(cell: Any, registry: Registry) -> Any:
    def read() -> Any:
        try:
            return cell.cell_contents
        except ValueError:  # not set yet
            return MISSING

    def put(value: Any) -> None:
        if value is MISSING:
            del cell.cell_contents
        else:
            cell.cell_contents = value

    registry.held[id(cell)] = cell
    return registry.state(id(cell), "a variable around the step", read, put)


def _method(value: types.MethodType, _names: Names, _registry: Registry) -> list[Any]:
    function = value.__func__
    return [value.__self__, *([function] if is_function(function) else [])]


def _partial(value: functools.partial, names: Names, registry: Registry) -> list[Any]:
    if value.func in _BY_NAME:
        raise UnfollowedError(f"it calls a partial {value.func.__name__}")
    return [value.func, value.args, value.keywords, *_attributes(value, names, registry)]


def _module(value: types.ModuleType, names: Names, registry: Registry) -> list[Any]:
    held = vars(value)
    if owner_of_module(value.__name__) is Owner.PROGRAM:
        kind = _class(type(value), names, registry) if is_programs(type(value)) else []
        return registry.fields(value, held, names.names) + kind
    found = registry.fields(value, held, [name for name in names.names if name in held])
    if owner_of_module(value.__name__) not in (Owner.LIBRARY, Owner.KERAS, Owner.FILES):
        return found
    return [part for part in map(_outside_of_library, found) if part is not None]


def _outside_of_library(part: Any) -> Any:
    """Of what a library's module holds: its modules, and the random state behind a function."""
    if isinstance(part, types.ModuleType):
        return part
    owner = getattr(part, "__self__", None)
    return owner if isinstance(owner, _RANDOM) else None


def _class(value: type, names: Names, registry: Registry) -> list[Any]:
    """A class of the program: what is named of it, and its methods, called by name or not."""
    found: list[Any] = []
    for kind in (*value.__mro__, *inspect.getmro(type(value))):
        if is_programs(kind):
            held = vars(kind)
            methods = [name for name, part in held.items() if _is_code(part)]
            read = held if names.reads_anything else [*names.names, *methods]
            read = dict.fromkeys(
                name
                for name in read
                if not name.startswith("__") or name in methods or name in names.names
            )
            found += registry.fields(kind, held, read)
            registry.state(("class", id(kind)), f"the class {kind.__name__}", _of_class(kind))
    if "__subclasses__" in names.names and is_programs(value):
        read = lambda: tuple(value.__subclasses__())  # noqa: E731
        registry.state(("subclasses", id(value)), "subclasses", read)
    return [_code_of(part) for part in found]


def _of_class(kind: type) -> Any:
    """Read what a class derives from, and how much is in it."""
    return lambda: (kind.__bases__, len(vars(kind)), kind.__name__)


def _code_of(part: Any) -> Any:
    return part.fget if isinstance(part, property) else getattr(part, "__func__", part)


def _is_code(part: Any) -> bool:
    return isinstance(part, types.FunctionType | staticmethod | classmethod | property)


def _builtin(value: Any, _names: Names, _registry: Registry) -> list[Any]:
    """A C function may be a method of something that changes."""
    owner = value.__self__
    return [] if owner is None or isinstance(owner, types.ModuleType | type) else [owner]


def _bits(value: Any, names: Names, registry: Registry) -> list[Any]:
    """Random bits of NumPy."""
    if isinstance(value, np.random.SeedSequence) or "spawn" in names.names:
        raise UnfollowedError(f"it reads a {type(value).__name__}, which counts its children")
    read, put = (lambda: _Frozen(value.state)), (lambda then: setattr(value, "state", then.state))
    registry.state(id(value), "a random state", read, put)
    return []


def _random(value: Any, names: Names, registry: Registry) -> list[Any]:
    if "spawn" in names.names and isinstance(value, np.random.Generator):
        raise UnfollowedError("it spawns from a random generator, which counts its children")
    if isinstance(value, random.Random):
        registry.state(id(value), "a random state", value.getstate, value.setstate)
    elif isinstance(value, np.random.Generator):
        bits = value.bit_generator
        read, put = (lambda: _Frozen(bits.state)), (lambda then: setattr(bits, "state", then.state))
        registry.state(id(value), "a random state", read, put)
    else:
        read = lambda: _Frozen(value.get_state(legacy=False))  # noqa: E731
        registry.state(id(value), "a random state", read, lambda then: value.set_state(then.state))
    return _attributes(value, names, registry) if is_programs(type(value)) else []


def _context_variable(value: Any, _names: Names, registry: Registry) -> list[Any]:
    def put(then: Any) -> None:
        if then is not MISSING:
            value.set(then)

    def read() -> Any:
        try:
            return value.get()
        except LookupError:  # not set, and without a default
            return MISSING

    return [registry.state(id(value), value.name, read, put)]


def _buffer(value: Any, _names: Names, registry: Registry) -> list[Any]:
    def put(then: bytes) -> None:
        value[:] = then

    registry.state(id(value), "a buffer", lambda: bytes(value), put)
    return []


def _cached(value: Any, names: Names, registry: Registry) -> list[Any]:
    """A function that remembers what it gave."""

    def read() -> Any:
        info = value.cache_info()
        return (info.misses, info.currsize, *_remembered(value))

    given = registry.state(id(value), f"what {value.__name__} remembers", read)
    return [value.__wrapped__, *given, *_attributes(value, names, registry)]


def _remembered(value: Any) -> list[Any]:
    """List what `lru_cache` keeps: in its table, or, where that is bounded, beside it."""
    parts = gc.get_referents(value)
    tables = [part for part in parts if type(part) is dict and part is not value.__dict__]
    kept = [part for part in parts if type(part) is not dict]
    return [part for part in (*kept, *(p for t in tables for p in t.values())) if _is_given(part)]


def _is_given(part: Any) -> bool:
    return not isinstance(part, type | types.FunctionType) and type(part).__name__ != _ENTRY


def _reference(value: Any, _names: Names, registry: Registry) -> list[Any]:
    return [registry.state(id(value), "what a weak reference leads to", value)]


def _namespace(value: Any, names: Names, registry: Registry) -> list[Any]:
    kind = _class(type(value), names, registry) if is_programs(type(value)) else []
    return _whole(value, registry) + kind


def _thread_local(value: Any, names: Names, registry: Registry) -> list[Any]:
    """What this thread has; another thread has its own."""
    registry.state(id(value), "a threading.local", lambda: tuple(vars(value).items()))
    kind = _class(type(value), names, registry) if is_programs(type(value)) else []
    return [*vars(value).values(), *kind]


def _error(value: BaseException, names: Names, registry: Registry) -> list[Any]:
    registry.state(("args", id(value)), "an error's args", lambda: value.args)
    return [*value.args, *_attributes(value, names, registry)]


def _referents(value: Any, _names: Names, _registry: Registry) -> list[Any]:
    """A view of a mapping: what it is a view of."""
    return [value.mapping] if isinstance(value, _VIEWS) else gc.get_referents(value)


def _object(value: Any, names: Names, registry: Registry) -> list[Any]:
    if isinstance(value, np.void):
        raise UnfollowedError("it reads a NumPy record, which can be changed in place")
    if isinstance(value, PLAIN):  # of a class of its own
        return _attributes(value, names, registry)
    if world.is_used_up(value):
        raise UnfollowedError(f"it reads from a {type(value).__name__} made outside of it")
    if is_a_librarys(value) and type(value).__module__.startswith("numpy"):
        return _whole(value, registry)
    if world.is_fixed(value) or is_a_librarys(value):
        held = world.fields_of(value)
        return registry.fields(value, held, names.sets) if held is not None else []
    if world.hides_memory(value):
        raise UnfollowedError(
            f"it reads a {type(value).__qualname__}, whose inside Python does not show"
        )
    return _attributes(value, names, registry)


def _attributes(value: Any, names: Names, registry: Registry) -> list[Any]:
    found: list[Any] = []
    if is_programs(type(value)):
        registry.kind(value)
        found += _class(type(value), names, registry)
    for name in names.sets:
        if isinstance(getattr(type(value), name, None), property):
            _settable(value, name, registry)
    held = world.fields_of(value)
    if held is not None and names.reads_anything:
        found += registry.items(held)
    elif held is not None:
        found += registry.fields(value, held, names.names)
    for name in world.slots_of(value):
        if names.reads_anything or name in names.names:
            found.append(_slot(value, name, registry))
    return found


def _settable(value: Any, name: str, registry: Registry) -> None:
    """A property that a step sets: of a layer, for one."""
    try:
        registry.state(
            ("property", id(value), name),
            f"{name} of a {type(value).__name__}",
            functools.partial(getattr, value, name),
            functools.partial(setattr, value, name),
        )
    except Exception:  # it cannot be read yet
        return


def _slot(value: Any, name: str, registry: Registry) -> Any:
    def put(then: Any) -> None:
        if then is MISSING:
            delattr(value, name)
        else:
            setattr(value, name, then)

    read = functools.partial(getattr, value, name, MISSING)
    key = ("slot", id(value), name)
    return registry.state(key, f"{name} of a {type(value).__name__}", read, put)


def _whole(value: Any, registry: Registry) -> list[Any]:
    """Everything on an object whose methods are not followed."""
    held = world.fields_of(value)
    return registry.items(held) if held else []


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


_LOOKS: list[tuple[Any, Any]] = [
    ((tuple, frozenset), _sequence),
    (CONTAINERS, _contents),
    (np.ndarray, _numbers),
    (types.FunctionType, _function),
    (types.MethodType, _method),
    (functools.partial, _partial),
    (types.ModuleType, _module),
    (type, _class),
    (_RANDOM, _random),
    (_BUILTIN, _builtin),
    (contextvars.ContextVar, _context_variable),
    ((bytearray, memoryview), _buffer),
    (_CACHED, _cached),
    (weakref.ref, _reference),
    (types.SimpleNamespace, _namespace),
    ((types.MappingProxyType, *_VIEWS), _referents),
    (threading.local, _thread_local),
    ((np.random.BitGenerator, np.random.SeedSequence), _bits),
    (BaseException, _error),
    (types.CellType, lambda value, _, registry: [_cell(value, registry)]),
    (types.MethodWrapperType, lambda value, *_: [value.__self__]),
    ((staticmethod, classmethod), lambda value, *_: [value.__func__]),
    (property, lambda value, *_: [] if value.fget is None else [value.fget]),
]
"""Kinds of objects, the more special before the more common, and how to look into each."""
