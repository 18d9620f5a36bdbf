"""The generator source.

In: a function that starts a generator, and what its elements should look like.  Out: its elements,
converted to the declared types and checked against the declared shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.calling import Function
from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.spec import TensorSpec, as_dtype
from manyhands.data.dataset.stage import UNKNOWN, Rows, Stage
from manyhands.data.dataset.structure import (
    TEXT,
    as_element,
    as_leaf,
    map_leaves,
    rebuild,
    same_nesting,
)
from manyhands.errors import DataError, explain


@dataclass(eq=False)
class Generated(Stage):
    """What a user's generator yields."""

    start: Callable[..., Any]
    args: tuple[Any, ...]
    signature: Any
    """None: whatever comes."""

    is_repeatable = False
    """Nobody starts the user's generator just to look."""

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"from_generator({getattr(self.start, '__name__', 'generator')})"

    @property
    def way(self) -> str:
        """How it runs."""
        return "rows (a Python generator)"

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _spec(self) -> Any:
        return self.peeked_spec() if self.signature is None else self.signature

    def _rows(self, run: Run) -> Rows:  # noqa: ARG002
        return GeneratedRows(self)

    def started(self) -> Iterator[Any]:
        """Start the generator."""
        made = Function(self.start, lambda leaf: leaf, "from_generator").spread(self.args)
        if isinstance(made, Iterable):
            return iter(made)
        raise DataError(
            explain(
                "from_generator needs a function that starts a generator.",
                got=f"it returned {type(made).__name__}",
                fix="write a function with yield in it, or return a list or an iterator.",
            )
        )


class GeneratedRows(Rows):
    """One run of the generator."""

    def __init__(self, stage: Generated) -> None:
        self._stage = stage
        self._source: Iterator[Any] | None = None
        self._number = 0

    def __next__(self) -> Any:
        if self._source is None:
            self._source = self._stage.started()
        value = next(self._source)
        self._number += 1
        if self._stage.signature is None:
            return as_element(value)
        return fitted(value, self._stage.signature, self._number - 1)

    def close(self) -> None:
        """End the generator, so that its `finally` runs."""
        if self._source is not None and hasattr(self._source, "close"):
            self._source.close()  # pyright: ignore[reportAttributeAccessIssue]


def signature_of(signature: Any, types: Any, shapes: Any) -> Any:
    """Read `output_signature`, or the older `output_types` and `output_shapes`."""
    try:
        return _signature(signature, types, shapes)
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        given = types if signature is None else signature
        raise DataError(
            explain(
                "The signature of a generator says shape and dtype of each part of an element.",
                got=f"{given!r} ({error})",
                fix="write output_signature=TensorSpec(shape, dtype), nested as the elements are.",
            )
        ) from None


def _signature(signature: Any, types: Any, shapes: Any) -> Any:
    if signature is not None:
        return map_leaves(lambda part: TensorSpec(part.shape, part.dtype), signature)
    if types is None:
        return None
    if shapes is None:
        return map_leaves(lambda dtype: TensorSpec(None, as_dtype(dtype)), types)
    return _paired(types, shapes)


def _paired(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {name: _paired(types[name], shapes[name]) for name in types}
    if isinstance(types, tuple):
        return tuple(_paired(*pair) for pair in zip(types, shapes, strict=True))
    return TensorSpec(shapes, as_dtype(types))


def fitted(value: Any, signature: Any, number: int) -> Any:
    """Convert one element to its signature, or say what does not fit."""
    value = tuple(value) if isinstance(value, list) and isinstance(signature, tuple) else value
    if not same_nesting(signature, value):
        raise _misfit(number, f"{type(value).__name__} nested otherwise than {signature}")
    flat: list[Any] = []
    map_leaves(lambda spec, leaf: flat.append(_fit(leaf, spec, number)), signature, value)
    return rebuild(signature, iter(flat))


def _fit(leaf: Any, spec: TensorSpec, number: int) -> Any:
    if spec.dtype == TEXT:
        found = as_leaf(leaf)
    else:
        try:
            found = np.asarray(leaf)
            kinds = (found.dtype.kind, spec.dtype.kind)
            misfit = kinds in (("f", "i"), ("f", "u")) or found.dtype.kind in "USO"
            if found.size and misfit:  # an empty list is of any dtype
                raise TypeError(f"{found.dtype} where {spec.dtype} was declared")
            found = found.astype(spec.dtype)[()]
        except (TypeError, ValueError) as error:
            raise _misfit(number, str(error)) from error
    if not spec.accepts(found):
        raise _misfit(number, f"shape {np.shape(found)} where {spec} was declared")
    return found


def _misfit(number: int, got: str) -> DataError:
    return DataError(
        explain(
            "A generator yielded an element that does not match its signature.",
            got=f"element {number}: {got}",
            fix="yield what output_signature declares, or change the signature.",
        )
    )
