"""Whose code a function is: the program's, Keras', Python's own, or a library's.

In: a frame.  Out: its Owner.  What a program's functions read is followed through all they name;
of Keras' own functions only what they read from the layer, loss or optimizer they belong to.
"""

from __future__ import annotations

import enum
import sys
import types


class Owner(enum.Enum):
    """Who wrote a function."""

    PROGRAM = enum.auto()
    """The user, or a library that we know nothing of."""
    KERAS = enum.auto()
    PYTHON = enum.auto()
    """The standard library: followed where the program calls it."""
    LIBRARY = enum.auto()
    """What computes with its arguments alone, so far as a step can tell."""


_LIBRARIES = {
    "jax", "jaxlib", "numpy", "manyhands", "optree", "ml_dtypes", "opt_einsum", "tensorstore",
    "tensorflow", "grain", "scipy", "etils", "zstandard", "absl", "rich", "h5py", "namex",
    "packaging", "google", "filelock", "typing_extensions", "importlib_resources", "fsspec", "zipp",
}  # fmt: skip
_SILENT = {
    "warnings", "linecache", "traceback", "typing", "abc", "importlib", "inspect", "dis", "ast",
    "tokenize", "weakref", "_weakrefset", "enum", "re", "types", "threading", "contextlib",
    "_py_abc", "reprlib", "string", "numbers", "operator", "signal", "gc",
}  # fmt: skip
"""Of the standard library: nothing that a step computes with is kept in there."""
_owner_of_module: dict[str, Owner] = {}


def owner_of(frame: types.FrameType) -> Owner:
    """Tell whose function a frame runs."""
    module = frame.f_globals.get("__name__") or ""
    owner = _owner_of_module.get(module)
    if owner is None:
        owner = _owner_of_module[module] = owner_of_module(module)
    return owner


def owner_of_module(module: str) -> Owner:
    """Tell whose module a name is."""
    top = module.split(".")[0]
    if top in _LIBRARIES or top in _SILENT or top.startswith("namedtuple_"):
        return Owner.LIBRARY
    if top == "keras":
        return Owner.KERAS
    if top in sys.stdlib_module_names and top != "__main__":
        return Owner.PYTHON
    return Owner.PROGRAM


def is_a_librarys(value: object) -> bool:
    """Whether an object is of a class of a library that computes with its arguments alone."""
    return type(value).__module__.split(".")[0] in _LIBRARIES


def is_programs(value: object) -> bool:
    """Whether a class or function is of the program."""
    return owner_of_module(getattr(value, "__module__", None) or "") is Owner.PROGRAM
