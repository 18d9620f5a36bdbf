"""What a function's code names.

In: a code object.  Out: Names: the globals and attributes that the code can read, the modules it
imports, and whether it can read attributes whose names are not written down in it.
"""

from __future__ import annotations

import dis
import functools
import types
from dataclasses import dataclass

_BY_NAME = {"getattr", "hasattr", "setattr", "delattr"}
_ANYTHING = {
    "vars", "dir", "__dict__", "__getattribute__", "__reduce_ex__", "__reduce__", "__getstate__",
    "eval", "exec",
}  # fmt: skip
_IMPORTS = {"__import__", "import_module"}
_SIMPLE = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME")


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """What a function's code names; each code has one, known by identity."""

    names: frozenset[str]
    imports: tuple[str, ...]
    reads_anything: bool
    """Whether it can read attributes that it does not name: `getattr(x, name)`, `vars(x)`."""


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> Names:
    """List what a code names, inner functions apart."""
    written = [const for const in code.co_consts if isinstance(const, str) and const.isidentifier()]
    named = set(code.co_names)
    imports = tuple(
        str(step.argval) for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"
    )
    if named & _IMPORTS:
        imports += tuple(const for const in code.co_consts if isinstance(const, str))
    anything = bool(named & _ANYTHING) or (bool(named & _BY_NAME) and _reads_by_name(code))
    return Names(frozenset(named.union(written)), imports, anything)


def _reads_by_name(code: types.CodeType) -> bool:
    """Whether `getattr` or a relative is called with a name that is not a plain constant."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "PUSH_NULL"]
    for place, step in enumerate(steps):
        if step.argval not in _BY_NAME or step.opname == "LOAD_CONST":
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
