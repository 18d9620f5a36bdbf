"""From a function that runs to every place that it can read.

In: frames, when a function is called.  Out: a Watch for each place, with what it held before the
function did anything.
A function reads what it names: globals, what it closes over, attributes of what it reaches so, the
contents of containers at any depth, and what other functions give to it.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import types
from collections.abc import Iterable
from typing import Any

import keras

from manyhands.engine.python_reads.inside import CONTAINERS, inside
from manyhands.engine.python_reads.names import BY_NAME, Names, names_of, widened
from manyhands.engine.python_reads.owners import is_programs
from manyhands.engine.python_reads.registry import Registry
from manyhands.engine.python_reads.watches import PLAIN

_NOTHING = Names(frozenset(), (), False)
_EXACTLY_PLAIN = {bool, int, float, complex, str, bytes, type(None)}


class Reach:
    """What the functions of one step have reached."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.made: set[int] = set()
        """Objects that the step made itself."""
        self._opened: set[tuple[int, int]] = set()
        self._ran: set[Any] = set()
        """Codes whose functions are known: found, or made by a function that ran."""
        self._functions: tuple[list[Any], list[Any]] | None = None

    # what happens

    def root(self, value: Any) -> None:
        """Take an object that the step is given."""
        self._open([value], _NOTHING)

    def function(self, frame: types.FrameType, *, by_library: bool) -> None:
        """See what a function can read, before it runs."""
        names = names_of(frame.f_code)
        self._see_cells(frame.f_code, by_library=by_library)
        found = self._global_names(frame, names)
        names = _widened(names, found)
        if names.imports:
            self.registry.fields("sys.modules", sys.modules, names.imports)
        found += _imported(frame, names)
        for value in list(frame.f_locals.values()):
            if self._was_there(value) or (by_library and self._is_somebodys(value)):
                found.append(value)
        self._open(found, names)

    def ended(self, frame: types.FrameType) -> None:
        """See what a function has imported while it ran."""
        names = names_of(frame.f_code)
        if names.imports:
            self._open(_imported(frame, names), names)

    def returned(self, frame: types.FrameType, value: Any) -> None:
        """See what a function is given by one that it called."""
        if self._was_there(value):
            self._open([value], names_of(frame.f_code))

    def forget(self) -> None:
        """Let go of what was only needed while the step ran."""
        self.registry.held.clear()
        self._opened.clear()
        self.made.clear()
        self._functions = None

    # how it is followed

    def _global_names(self, frame: types.FrameType, names: Names) -> list[Any]:
        held, builtins = frame.f_globals, frame.f_builtins
        wanted = names.names | names.globals if names.reads_anything else names.globals
        read = [name for name in wanted if name in held or name in names.globals]
        self.registry.fields("builtins", builtins, [n for n in read if n in builtins])
        return self.registry.fields(held.get("__name__", "globals"), held, read)

    def _see_cells(self, code: types.CodeType, *, by_library: bool) -> None:
        """Find the functions of a code that nobody has reached by name.

        A function that closes over something, or that a library calls: it may have cells, defaults,
        and arguments that were bound before.
        """
        inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
        self._ran.update(map(id, inner))
        searched = ("searched", id(code))
        is_known = id(code) in self._ran and not by_library
        if is_known or searched in self._ran or not (code.co_freevars or by_library):
            return
        self._ran.add(searched)
        self._open(self._functions_of(code), _NOTHING)

    def _functions_of(self, code: types.CodeType) -> list[Any]:
        """List all functions of a code, and what binds arguments to them."""
        if self._functions is None:
            objects = gc.get_objects()
            functions = [part for part in objects if type(part) is types.FunctionType]
            partials = [part for part in objects if type(part) is functools.partial]
            self._functions = (functions, partials)
        functions, partials = self._functions
        found = [function for function in functions if function.__code__ is code]
        bound = [part for part in partials if any(part.func is function for function in found)]
        return [*found, *bound]

    def _was_there(self, value: Any) -> bool:
        """Whether an object is known to be older than the step: classes and modules always are."""
        is_class = isinstance(value, type) and is_programs(value)
        return is_class or isinstance(value, types.ModuleType) or id(value) in self.registry.held

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
            if type(value) in _EXACTLY_PLAIN or (id(value), id(names)) in self._opened:
                continue
            self._opened.add((id(value), id(names)))
            self.registry.held[id(value)] = value
            if isinstance(value, types.FunctionType):
                self._ran.add(id(value.__code__))
            waiting.extend(inside(value, names, self.registry))


_READERS = (getattr, vars, dir, operator.attrgetter, operator.methodcaller)


def _widened(names: Names, found: list[Any]) -> Names:
    """Know a `getattr` by another name, and texts from elsewhere that name attributes."""
    anything = any(value is reader for value in found for reader in _READERS)
    anything = anything and not names.reads_anything and not names.names & BY_NAME
    formats = bool(names.names & {"format", "format_map"})
    words = tuple(value for value in found if type(value) is str) if formats else ()
    return widened(names, words, anything) if anything or words else names


def _imported(frame: types.FrameType, names: Names) -> list[Any]:
    """List the modules that a function imports, so far as they are loaded."""
    if not names.imports:
        return []
    package = frame.f_globals.get("__package__") or ""
    parents = [".".join(package.split(".")[:end]) for end in range(1, package.count(".") + 2)]
    known = [*names.imports, *parents, *(f"{p}.{n}" for p in parents for n in names.imports)]
    return [sys.modules[name] for name in known if name in sys.modules]
