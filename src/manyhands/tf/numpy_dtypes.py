"""NumPy's dtypes, with the properties that TensorFlow's programs ask of `tensor.dtype`.

In: NumPy's dtype class.  Out: the same, with `is_floating`, `is_integer`, `base_dtype`, …
JAX needs `tensor.dtype` to be NumPy's, and NumPy's is a C class without room for new names, so
they are put where CPython keeps a class's names.  Installed when `manyhands.tf` is imported, and
only then; tests/tf/test_dtypes.py fails when a new Python no longer allows it.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np

from manyhands.tf.dtypes import as_dtype

_ASKED = (
    "as_numpy_dtype",
    "base_dtype",
    "is_bool",
    "is_complex",
    "is_floating",
    "is_integer",
    "is_unsigned",
    "limits",
    "max",
    "min",
    "size",
)


def install() -> None:
    """Add the properties, once a process."""
    names = gc.get_referents(np.dtype.__dict__)[0]
    for name in _ASKED:
        names.setdefault(name, _answer(name))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.dtype))


def _answer(name: str) -> property:
    def of(kind: np.dtype) -> Any:
        return getattr(as_dtype(kind), name)

    return property(of, doc=f"`{name}`, as TensorFlow's dtype answers it.")
