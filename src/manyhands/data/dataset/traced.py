"""Compile a user's function with JAX where that gives the same answer.

In: a function and a few rows.  Out: the function over whole batches, compiled for the CPU, or the
reason why it has to run as plain Python.

The function is first called as it is, then traced, and both answers are compared on those rows: a
function that reads NumPy's random numbers, a clock or a counter answers differently and stays
plain.  Results have the plain answer's dtypes, except that 64-bit numbers which no input asked
for become 32-bit, as in TensorFlow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from manyhands.data.dataset.calling import Function, Place, as_result, is_wide, on_cpu
from manyhands.data.dataset.randomness import halves, mapping_row
from manyhands.data.dataset.spec import TensorSpec, is_text, leaf_dtype, spec_of
from manyhands.data.dataset.structure import copied, leaves, map_leaves, rebuild, same_nesting

_MOST_SHAPES = 16
_WIDE = {"f": np.dtype(np.float32), "i": np.dtype(np.int32), "u": np.dtype(np.uint32)}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """How a function runs."""

    traced: Traced | None
    reason: str
    """Why not, where it is not traced."""
    spec: Any
    """What it returned for the first row."""
    seconds: float
    """What one plain call took."""
    dtypes: tuple[np.dtype, ...] | None = None

    def cast(self, element: Any) -> Any:
        """Give a plain result the dtypes of the traced one."""
        if self.dtypes is None:
            return element
        dtypes = iter(self.dtypes)
        return map_leaves(lambda leaf: _cast(leaf, next(dtypes)), element)


@dataclass
class Traced:
    """A compiled function."""

    function: Function
    inputs: Any
    result: Any
    dtypes: tuple[np.dtype, ...]
    is_random: bool = False
    is_known_fixed: bool = False
    """Traced once, and it drew nothing: no keys need to be passed."""
    _shapes: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._wide = is_wide(self.inputs)
        self._by_row = jax.jit(jax.vmap(self._one, in_axes=(0, None, 0, 0, 0)))
        self._by_row_fixed = jax.jit(jax.vmap(lambda parts: self._one(parts, 0, 0, 0, 0)))
        self._whole = jax.jit(self._one)

    def over_rows(self, batch: Any, seed: int, epochs: Any, positions: np.ndarray) -> Any:
        """Apply it to each row of a batch; arrays of JAX."""
        if self.is_known_fixed:
            with on_cpu(self._wide):
                return rebuild(self.result, iter(self._by_row_fixed(leaves(batch))))
        high, low = halves(np.broadcast_to(epochs, len(positions)))
        return self._run(self._by_row, batch, seed, high, low, positions)

    def over_whole(self, element: Any, place: Place) -> Any | None:
        """Apply it to one element; None where too many shapes would have to be compiled."""
        shape = tuple(np.shape(leaf) for leaf in leaves(element))
        if shape not in self._shapes and len(self._shapes) >= _MOST_SHAPES:
            return None
        self._shapes.add(shape)
        position = np.uint32(place.position)
        return self._run(self._whole, element, place.seed, *halves(place.epoch), position)

    def _run(self, program: Any, element: Any, seed: int, *place: Any) -> Any:
        with on_cpu(self._wide):
            *high_low, position = place
            numbered = (*high_low, np.asarray(position, np.uint32))
            out = program(leaves(element), np.uint32(seed & 0xFFFFFFFF), *numbered)
        return rebuild(self.result, iter(out))

    def _one(self, parts: list[Any], seed: Any, high: Any, low: Any, position: Any) -> list[Any]:
        import keras

        element = rebuild(self.inputs, iter(parts))
        with (
            keras.StatelessScope(initialize_variables=False) as state,
            mapping_row(seed, (high, low), position) as scope,
        ):
            out = self.function.spread(element)
        if state.state_mapping:
            raise TypeError("it changes variables")
        self.is_random |= scope.num_drawn > 0
        out = tuple(out) if isinstance(out, list) else out
        if not same_nesting(self.result, out):
            raise TypeError("its result is nested otherwise when traced")
        flat = [jax.numpy.asarray(leaf) for leaf in leaves(out)]
        return [part.astype(dtype) for part, dtype in zip(flat, self.dtypes, strict=True)]


def decide(
    function: Function, rows: Sequence[Any], places: Sequence[Place], *, whole: bool
) -> Decision:
    """Choose how a function runs, by trying it on some rows."""
    try:
        began_s = time.perf_counter()
        plain = [function.on(copied(row), place) for row, place in zip(rows, places, strict=True)]
        seconds = (time.perf_counter() - began_s) / len(rows)
    except Exception as error:  # shown again, in its turn, when the row is really asked for
        return Decision(traced=None, reason=f"raised {type(error).__name__}", spec=None, seconds=0)
    spec = spec_of(plain[0]) if _has_no_datasets(plain[0]) else None
    opaque = lambda reason: Decision(  # noqa: E731
        traced=None, reason=reason, spec=spec, seconds=seconds
    )
    if spec is None or is_text(rows[0]) or is_text(plain[0]):
        return opaque("text is not traced")
    if any(spec_of(other) != spec for other in plain[1:]):
        return opaque("its results differ in shape")
    dtypes = _dtypes(rows[0], plain[0])
    traced = Traced(function, rows[0], plain[0], dtypes)
    try:
        same = _agree(traced, rows, places, plain, whole=whole)
    except Exception as error:  # whatever a user's function does with a traced value
        return opaque(_short(error))
    if not same:
        return opaque("its traced result differs")
    traced.is_known_fixed = not traced.is_random
    cast = dtypes if any(_differ(dtypes, plain[0])) else None
    spec = rebuild(spec, map(TensorSpec, [np.shape(p) for p in leaves(plain[0])], dtypes))
    return Decision(traced=traced, reason="", spec=spec, seconds=seconds, dtypes=cast)


def _agree(
    traced: Traced, rows: Sequence[Any], places: Sequence[Place], plain: list[Any], *, whole: bool
) -> bool:
    if whole:
        found = [traced.over_whole(*pair) for pair in zip(rows, places, strict=True)]
    else:
        if any(spec_of(row) != spec_of(rows[0]) for row in rows):
            return False
        stacked = map_leaves(lambda *parts: np.stack(parts), *rows)
        epochs = np.array([place.epoch for place in places])
        positions = np.array([place.position for place in places])
        out = traced.over_rows(stacked, places[0].seed, epochs, positions)
        found = [map_leaves(lambda part, n=n: part[n], out) for n in range(len(rows))]
    return all(
        np.shape(a) == np.shape(b) and _close(np.asarray(a), np.asarray(b))
        for one, other in zip(plain, found, strict=True)
        for a, b in zip(leaves(one), leaves(other), strict=True)
    )


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind in "biu":
        return bool((one == other).all())
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    return np.allclose(one.astype(wide), other.astype(wide), 1e-3, 1e-4, equal_nan=True)


def _dtypes(inputs: Any, result: Any) -> tuple[np.dtype, ...]:
    asked = {leaf_dtype(leaf) for leaf in leaves(inputs)}
    out = []
    for leaf in leaves(result):
        dtype = leaf_dtype(leaf)
        narrow = dtype.itemsize == 8 and dtype not in asked
        out.append(_WIDE.get(dtype.kind, dtype) if narrow else dtype)
    return tuple(out)


def _differ(dtypes: Sequence[np.dtype], element: Any) -> list[bool]:
    pairs = zip(dtypes, leaves(element), strict=True)
    return [leaf_dtype(leaf) != dtype for dtype, leaf in pairs]


def _cast(leaf: Any, dtype: np.dtype) -> Any:
    return leaf if leaf_dtype(leaf) == dtype else np.asarray(leaf).astype(dtype)[()]


def _has_no_datasets(element: Any) -> bool:
    return not any(hasattr(leaf, "is_dataset_leaf") for leaf in leaves(as_result(element)))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[
        :70
    ]
