"""TensorFlow's dtypes: values that NumPy, JAX and Keras take for theirs.

In: a name.  Out: a DType that equals the NumPy dtype and the Keras name of the same kind.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from manyhands.tf.missing import missing

_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


class DType:
    """One kind of number."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def as_numpy_dtype(self) -> Any:
        """The scalar type that NumPy has for it."""
        return object if self.name == "string" else self.dtype.type

    @property
    def dtype(self) -> np.dtype:
        """The dtype that NumPy has for it."""
        return np.dtype(object) if self.name == "string" else jnp.dtype(self.name)

    @property
    def is_floating(self) -> bool:
        """Whether it has a fraction."""
        return self.name != "string" and jnp.issubdtype(self.dtype, jnp.floating)

    @property
    def is_integer(self) -> bool:
        """Whether it counts."""
        return self.name != "string" and jnp.issubdtype(self.dtype, jnp.integer)

    @property
    def is_bool(self) -> bool:
        """Whether it is true or false."""
        return self.name == "bool"

    @property
    def is_complex(self) -> bool:
        """Whether it has an imaginary part."""
        return self.name.startswith("complex")

    @property
    def is_unsigned(self) -> bool:
        """Whether it cannot be negative."""
        return self.name.startswith("uint")

    @property
    def size(self) -> int:
        """Bytes of one number."""
        return self.dtype.itemsize

    @property
    def min(self) -> Any:
        """The least number."""
        return (jnp.finfo if self.is_floating else jnp.iinfo)(self.dtype).min

    @property
    def max(self) -> Any:
        """The greatest number."""
        return (jnp.finfo if self.is_floating else jnp.iinfo)(self.dtype).max

    @property
    def limits(self) -> tuple[Any, Any]:
        """The least and the greatest number."""
        return self.min, self.max

    def is_compatible_with(self, other: Any) -> bool:
        """Whether another dtype is the same."""
        return self == other

    @property
    def base_dtype(self) -> DType:
        """Itself."""
        return self

    def __eq__(self, other: object) -> bool:
        return other is not None and name_of(other) == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)


NAMES = [
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
    "string",
]
_ALL = {name: DType(name) for name in NAMES} | {
    "half": DType("float16"),
    "double": DType("float64"),
}


def name_of(kind: Any) -> str | None:
    """Return the name of a dtype in any spelling; None for what is none."""
    if isinstance(kind, DType):
        return kind.name
    if isinstance(kind, str):
        return _ALL[kind].name if kind in _ALL else None
    if kind is str:
        return "string"
    try:
        name = np.dtype(kind).name
    except TypeError:
        return None
    return "string" if name == "object" or name.startswith(("str", "bytes")) else name


def as_dtype(kind: Any) -> DType:
    """Return the DType for a dtype in any spelling."""
    kind = {float: "float32", int: "int32", bool: "bool"}.get(kind, kind) if kind else kind
    name = name_of(kind)
    if name not in _ALL:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {kind!r} to a TensorFlow DType."
        )
    return _ALL[name]


def on_device(kind: Any) -> np.dtype:
    """Return the dtype that JAX computes in for this one: 32 bits, unless 64 are switched on."""
    name = as_dtype(kind).name
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        name = _NARROWED.get(name, name)
    return jnp.dtype(name)


def __getattr__(name: str) -> DType:
    if name in _ALL:
        return _ALL[name]
    raise AttributeError(name) if name.startswith("__") else missing(f"tf.dtypes.{name}")
