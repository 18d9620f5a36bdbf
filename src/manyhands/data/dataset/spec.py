"""What an element looks like: a TensorSpec for each leaf.

In: elements, or the signatures users write.  Out: TensorSpec values, printable and comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.structure import TEXT, leaves, map_leaves


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and dtype of one leaf; None where a dimension is not fixed, or for any shape at all."""

    shape: tuple[int | None, ...] | None
    dtype: np.dtype
    name: str | None = None

    def __init__(self, shape: Any, dtype: Any = np.float32, name: str | None = None) -> None:
        object.__setattr__(self, "shape", as_shape(shape))
        object.__setattr__(self, "dtype", as_dtype(dtype))
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        named = f", name={self.name!r}" if self.name else ""
        dtype = "string" if self.dtype == TEXT else self.dtype.name
        return f"TensorSpec(shape={self.shape}, dtype={dtype}{named})"

    def accepts(self, leaf: Any) -> bool:
        """Whether a leaf has this shape and dtype."""
        shape = np.shape(leaf)
        if leaf_dtype(leaf) != self.dtype:
            return False
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(want in (None, have) for want, have in zip(self.shape, shape, strict=True))
        )


def as_shape(shape: Any) -> tuple[int | None, ...] | None:
    """Read a shape as users write it: numbers, None, and objects that say `as_list`."""
    if shape is None:
        return None
    if hasattr(shape, "as_list"):
        shape = shape.as_list() if getattr(shape, "rank", 0) is not None else None
        return None if shape is None else as_shape(shape)
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple(None if dim is None or int(dim) < 0 else int(dim) for dim in shape)


def as_dtype(dtype: Any) -> np.dtype:
    """Read a dtype as users write it: NumPy's, a name, or an object that names its NumPy type."""
    dtype = getattr(dtype, "as_numpy_dtype", dtype)
    if dtype in ("string", "bytes", str, bytes):
        return TEXT
    if isinstance(dtype, str) and dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(getattr(dtype, "name", dtype))
    return TEXT if found.kind in "US" else found.newbyteorder("=")


def leaf_dtype(leaf: Any) -> np.dtype:
    """Dtype of a leaf, bytes included."""
    return leaf.dtype if hasattr(leaf, "dtype") else TEXT


def spec_of(element: Any) -> Any:
    """Spec of an element as it stands."""
    return map_leaves(
        lambda leaf: (
            leaf.element_spec_of_window()
            if hasattr(leaf, "element_spec_of_window")
            else TensorSpec(np.shape(leaf), leaf_dtype(leaf))
        ),
        element,
    )


def with_rows(spec: Any, num_rows: int | None) -> Any:
    """Spec of a batch of such elements."""
    return map_leaves(
        lambda part: TensorSpec(
            None if part.shape is None else (num_rows, *part.shape), part.dtype, part.name
        ),
        spec,
    )


def without_rows(spec: Any) -> Any:
    """Spec of one row of such a batch."""
    return map_leaves(
        lambda part: TensorSpec(
            None if part.shape is None else part.shape[1:], part.dtype, part.name
        ),
        spec,
    )


def loosest(one: Any, other: Any) -> Any:
    """Spec that holds for both: None wherever they differ."""
    return map_leaves(_loosest, one, other)


def _loosest(one: TensorSpec, other: TensorSpec) -> TensorSpec:
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        return TensorSpec(None, one.dtype)
    pairs = zip(one.shape, other.shape, strict=True)
    return TensorSpec(tuple(a if a == b else None for a, b in pairs), one.dtype)


def is_text(element: Any) -> bool:
    """Whether some leaf is text, which JAX does not know."""
    return any(leaf_dtype(leaf) == TEXT for leaf in leaves(element))
