"""What a function's code names.

In: a code object.  Out: Names: the globals and attributes that the code can read, the modules it
imports, and whether it can read attributes whose names are not written down in it.
"""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}
_ANYTHING = {
    "vars", "dir", "__dict__", "__getattribute__", "__reduce_ex__", "__reduce__", "__getstate__",
    "eval", "exec", "dumps", "attrgetter", "methodcaller", "getmembers", "getattr_static",
}  # fmt: skip
_IMPORTS = {"__import__", "import_module"}
_SIMPLE = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME")
_LONGEST = 200
"""Longer texts are no names, nor formats that name something."""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """What a function's code names; each code has one, known by identity."""

    names: frozenset[str]
    imports: tuple[str, ...]
    reads_anything: bool
    """Whether it can read attributes that it does not name: `getattr(x, name)`, `vars(x)`."""
    globals: frozenset[str] = frozenset()
    """The names that it looks up in its module."""
    sets: frozenset[str] = frozenset()
    """The attributes that it sets."""


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> Names:
    """List what a code names, inner functions apart."""
    named = set(code.co_names)
    steps = list(dis.get_instructions(code))
    imports = tuple(str(step.argval) for step in steps if step.opname == "IMPORT_NAME")
    if named & _IMPORTS:
        imports += tuple(const for const in code.co_consts if isinstance(const, str))
    anything = bool(named & _ANYTHING) or any(step.opname == "MATCH_CLASS" for step in steps)
    anything = anything or (bool(named & BY_NAME) and _reads_by_name(steps))
    return Names(
        frozenset(named.union(_words(code.co_consts))),
        imports,
        anything,
        frozenset(step.argval for step in steps if step.opname.endswith(("_GLOBAL", "_NAME"))),
        frozenset(step.argval for step in steps if step.opname in ("STORE_ATTR", "DELETE_ATTR"))
        | (frozenset(_words(code.co_consts)) if "setattr" in named else frozenset()),
    )


@functools.lru_cache(maxsize=1024)
def widened(names: Names, words: tuple[str, ...], anything: bool) -> Names:
    """Give names, and more: words of texts that it formats, or any attribute at all."""
    more = frozenset(_words(words))
    return Names(
        names.names | more,
        names.imports,
        names.reads_anything or anything,
        names.globals,
        names.sets,
    )


def _words(constants: tuple[Any, ...]) -> Iterator[str]:
    """List the names in texts: `getattr(x, "rate")`, `attrgetter("a.b")`, `"{0.rate}"`."""
    for const in constants:
        if isinstance(const, str) and len(const) <= _LONGEST:
            yield from re.findall(r"[^\W\d]\w*", const)
        elif isinstance(const, tuple):
            yield from _words(const)


def _reads_by_name(steps: list[dis.Instruction]) -> bool:
    """Whether `getattr` or a relative is called with a name that is not a plain constant."""
    steps = [step for step in steps if step.opname != "PUSH_NULL"]
    for place, step in enumerate(steps):
        if step.argval not in BY_NAME or step.opname == "LOAD_CONST":
            continue
        if not step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
            return True
        after = steps[place + 1 :]
        while after and after[0].opname.startswith(_SIMPLE):
            after = after[1:]
        if not _is_constant_name(after):
            return True
    return False


def _is_constant_name(steps: list[dis.Instruction]) -> bool:
    """Whether a call goes on with a constant name, and perhaps one simple argument more."""
    if not steps or steps[0].opname != "LOAD_CONST" or not isinstance(steps[0].argval, str):
        return False
    rest = [step.opname for step in steps[1:3]]
    if rest and rest[0].startswith("LOAD_"):
        rest = rest[1:]
    return bool(rest) and rest[0].startswith(("PRECALL", "CALL"))
