"""Shapes as TensorFlow's programs use them: tuples that know a few more words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from manyhands.tf.dtypes import DType, as_dtype


class TensorShape(tuple):
    """A shape; a plain tuple to everybody else."""

    __slots__ = ()

    def __new__(cls, dims: Any = ()) -> TensorShape:
        """Take one dim, several, or another shape."""
        if dims is None:
            dims = ()
        return super().__new__(cls, (dims,) if isinstance(dims, int) else tuple(dims))

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return TensorShape(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> TensorShape:
        return TensorShape((*self, *other))

    def __radd__(self, other: Any) -> Any:
        joined = (*other, *self)
        return list(joined) if isinstance(other, list) else TensorShape(joined)

    def as_list(self) -> list[int | None]:
        """The dims as a list."""
        return list(self)

    @property
    def rank(self) -> int:
        """How many dims."""
        return len(self)

    @property
    def ndims(self) -> int:
        """How many dims."""
        return len(self)

    @property
    def dims(self) -> list[int | None]:
        """The dims as a list."""
        return list(self)

    def num_elements(self) -> int | None:
        """How many numbers; None where a dim is not known."""
        return None if None in self else math.prod(self)

    def is_fully_defined(self) -> bool:
        """Whether every dim is known."""
        return None not in self

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both could be the shape of one tensor."""
        other = TensorShape(other)
        return len(self) == len(other) and all(
            a is None or b is None or a == b for a, b in zip(self, other, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Check that both could be the shape of one tensor."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {tuple(self)} and {tuple(other)} are incompatible")

    def concatenate(self, other: Iterable[Any]) -> TensorShape:
        """This shape, then the other."""
        return TensorShape((*self, *TensorShape(other)))

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        return str(tuple(self))


class TensorSpec:
    """What a tensor looks like: its shape (None where a dim varies), dtype and name."""

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Describe a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    def is_compatible_with(self, tensor: Any) -> bool:
        """Whether a tensor looks like this."""
        return as_dtype(tensor.dtype) == self.dtype and self.shape.is_compatible_with(tensor.shape)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.shape == other.shape
            and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype.name))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={tuple(self.shape)}, dtype={self.dtype!r}, name={self.name!r})"
