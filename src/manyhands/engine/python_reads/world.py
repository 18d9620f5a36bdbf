"""What a step can read that no watch can follow: clocks, files, iterators, hidden memory.

In: a C function that is about to be called, or an object.  Out: why it cannot be followed, or None.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import operator
import re
import types
from typing import Any

import numpy as np

_OUTSIDE = {
    "time", "posix", "nt", "_io", "io", "_socket", "select", "_posixsubprocess", "_queue", "mmap",
    "_sqlite3", "_multiprocessing", "termios", "readline", "resource", "_ctypes", "_winapi",
    "msvcrt", "_warnings", "_lsprof", "_locale",
}  # fmt: skip
"""C modules whose functions ask the world, or tell it something."""
_HARMLESS = {"fspath", "getpid", "text_encoding", "_path_splitroot_ex", "_path_normpath"}
_BUILTINS = {"open", "input", "print", "globals", "breakpoint"}
_NAMED = {
    "datetime.now", "datetime.today", "datetime.utcnow", "date.today", "start_new_thread",
    "start_joinable_thread", "get_ident", "get_native_id", "setprofile", "settrace",
    "getrecursionlimit",
}  # fmt: skip
_NUMPY_FILES = {"fromfile", "tofile", "dump"}

_USED_UP = (
    types.GeneratorType,
    types.CoroutineType,
    map,
    filter,
    zip,
    enumerate,
    reversed,
    operator.attrgetter,
    operator.methodcaller,
    np.flatiter,
    np.nditer,
    *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
    *(type(iter(of)) for of in ([], (), {}, set(), "", b"", range(0), {}.values(), {}.items())),
)
_FIXED = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    decimal.Decimal,
    re.Pattern,
    range,
    slice,
    np.dtype,
    np.ufunc,
    types.CodeType,
    types.FrameType,
    types.GenericAlias,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    type(Ellipsis),
    type(NotImplemented),
    operator.itemgetter,
)
_C_ITERATORS = {"builtins", "itertools", "re", "_sre", "numpy", "_functools", "collections"}
_DIGESTS = {"_hashlib", "_blake2", "_md5", "_sha1", "_sha2", "_sha3", "zlib", "_random"}
"""C modules whose objects take something in, and show it only in the end."""
_LOCKS = {"locked", "acquire", "acquire_lock", "_is_owned"}
_SILENT_TYPES = {
    "_io", "_thread", "_socket", "jaxlib", "jaxlib._jax", "jaxlib.xla_extension", "_abc", "optree",
    "jax", "_queue", "typing",
}  # fmt: skip
_MADE_IN_PYTHON = 1 << 9
"""A flag of classes that are not C's."""
_HEAD_BYTES = object.__basicsize__
_WORD_BYTES = 8


def asks_the_world(function: Any) -> str | None:
    """Name a C function that reads or changes what is outside of Python, None for the others."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    owner = getattr(function, "__self__", None)
    if module == "builtins":
        return name if name in _BUILTINS else None
    if module in _OUTSIDE:
        return None if name in _HARMLESS else f"{module}.{name}"
    if name in _NAMED:
        return name
    if type(owner).__module__ == "_thread" and name.split(".")[-1] in _LOCKS:
        return name
    if module == "numpy" or isinstance(owner, np.ndarray):
        return name if name.split(".")[-1] in _NUMPY_FILES else None
    if module is None and type(owner).__module__ in _OUTSIDE:
        return name
    return None


def is_used_up(value: Any) -> bool:
    """Whether reading from an object changes it, and nobody can look without reading."""
    kind = type(value)
    is_iterator = hasattr(kind, "__next__") and kind.__module__ in _C_ITERATORS
    return is_iterator or isinstance(value, _USED_UP) or kind.__module__ in _DIGESTS


def is_fixed(value: Any) -> bool:
    """Whether an object never changes, or has nothing inside that a step could compute with."""
    kind = type(value)
    silent = kind.__module__ in _SILENT_TYPES or kind.__name__ == "cython_function_or_method"
    return silent or isinstance(value, _FIXED)


def hides_memory(value: Any) -> bool:
    """Whether an object has memory of its own that Python's attributes do not show."""
    kind = type(value)
    slots = sum(len(_slots(base)) for base in kind.__mro__)
    return kind.__basicsize__ > _HEAD_BYTES + _WORD_BYTES * (slots + 2)


def fields_of(value: Any) -> dict[str, Any] | None:
    """Give an object's own dictionary, without running code of its class."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return held if isinstance(held, dict) else None


def slots_of(value: Any) -> list[str]:
    """List the slots of an object."""
    if not type(value).__flags__ & _MADE_IN_PYTHON:
        return []
    return [name for base in type(value).__mro__ for name in _slots(base)]


def _slots(kind: type) -> list[str]:
    return [
        name
        for name, held in vars(kind).items()
        if isinstance(held, types.MemberDescriptorType) and name != "__dict__"
    ]
