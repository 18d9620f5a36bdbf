"""Whose code a function is: the program's, Keras', Python's own, or a library's.

In: a frame.  Out: its Owner.  What a program's functions read is followed through all they name;
of Keras' own functions only what they read from the layer, loss or optimizer they belong to.
"""

from __future__ import annotations

import enum
import sys
import sysconfig
import types


class Owner(enum.Enum):
    """Who wrote a function."""

    PROGRAM = enum.auto()
    """The user, or a library that we know nothing of."""
    KERAS = enum.auto()
    PYTHON = enum.auto()
    """The standard library and the like: followed where the program calls it."""
    LIBRARY = enum.auto()
    """What computes with its arguments alone, so far as a step can tell."""
    FILES = enum.auto()
    """The part of a library that reads and writes files."""
    ERRORS = enum.auto()
    """Where the errors are made that say that a step needs values."""


_LIBRARIES = {
    "jax", "jaxlib", "numpy", "manyhands", "optree", "ml_dtypes", "opt_einsum", "tensorstore",
    "tensorflow", "grain",
}  # fmt: skip
_LIKE_PYTHON = {
    "scipy", "etils", "zstandard", "absl", "rich", "h5py", "namex", "packaging", "google",
    "filelock", "typing_extensions", "importlib_resources", "fsspec", "zipp",
}  # fmt: skip
"""What the libraries use themselves: a call from there is none of the program's."""
_SILENT = {
    "warnings", "linecache", "traceback", "typing", "abc", "_py_abc", "inspect", "dis", "ast",
    "tokenize", "gc", "signal",
}  # fmt: skip
"""Of the standard library: nothing that a step computes with is kept in there."""
_SPECIAL = {
    "numpy.lib._npyio_impl": Owner.FILES,
    "numpy.lib._format_impl": Owner.FILES,
    "numpy.lib._datasource": Owner.FILES,
    "numpy._core.memmap": Owner.FILES,
    "keras.src.saving.saving_lib": Owner.FILES,
    "keras.src.saving.saving_api": Owner.FILES,
    "h5py._hl.files": Owner.FILES,
    "manyhands.tf.gfile": Owner.FILES,
    "jax._src.errors": Owner.ERRORS,
    "manyhands.data.dataset.randomness": Owner.ERRORS,
}
_ACTING = ("keras.src.callbacks", "keras.src.utils.progbar")
"""Of Keras: what is there to act, and is followed like the program's own."""
_STANDARD = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
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
    if module in _SPECIAL:
        return _SPECIAL[module]
    if module.startswith(_ACTING):
        return Owner.PROGRAM
    if top in _LIBRARIES or top.startswith("namedtuple_"):
        return Owner.LIBRARY
    if top == "keras":
        return Owner.KERAS
    if _is_standard(top):
        return Owner.LIBRARY if top in _SILENT else Owner.PYTHON
    return Owner.PYTHON if top in _LIKE_PYTHON else Owner.PROGRAM


def _is_standard(top: str) -> bool:
    """Whether a module is Python's own, and not a file of the program that has its name."""
    if top not in sys.stdlib_module_names or top == "__main__":
        return False
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is None or (file.startswith(_STANDARD) and "site-packages" not in file)


def is_a_librarys(value: object) -> bool:
    """Whether an object is of a class of a library that computes with its arguments alone."""
    return type(value).__module__.split(".")[0] in _LIBRARIES


def is_programs(value: object) -> bool:
    """Whether a class or function is of the program."""
    module = getattr(value, "__module__", None)
    if module == "builtins" and isinstance(value, type):
        return bool(value.__flags__ & _MADE_IN_PYTHON)  # by `exec`, without a module of its own
    return owner_of_module(module if isinstance(module, str) else "") is Owner.PROGRAM


_MADE_IN_PYTHON = 1 << 9
