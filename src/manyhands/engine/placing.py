"""Put arrays where a step wants them, moving only what is not there yet.

In: arrays and a Placement.  Out: the same arrays for a program, or as Python holds them.
Across processes nothing travels here: each process gives its own devices' part, and takes its own
devices' copy back, without copying.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding

from manyhands.engine.placement import Placement

_SPANNING = "_manyhands_spanning"
"""Where the copy that Python holds remembers the array that spans all processes."""


def put_whole(parts: list[Any], placement: Placement) -> list[Any]:
    """Give each array for a program, a full copy on every device; no two share a buffer."""
    parts = unshared(parts)
    if placement.spans_processes:
        return [_spanning(part, placement) for part in parts]
    astray = [i for i, part in enumerate(parts) if not is_at(part, placement.whole)]
    if astray:
        moved = jax.device_put([parts[i] for i in astray], placement.whole)
        for i, part in zip(astray, moved, strict=True):
            parts[i] = part
    return parts


def put(part: Any, sharding: Sharding) -> Any:
    """Put a host array that every process has; each takes what its devices need."""
    if sharding.is_fully_addressable:
        return jax.device_put(part, sharding)
    whole = np.asarray(part)
    whole = whole.astype(jax.dtypes.canonicalize_dtype(whole.dtype), copy=False)
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])


def put_own(part: Any, sharding: Sharding, shape: tuple[int, ...], own: slice, dim: int) -> Any:
    """Put this process' rows of an array whose other rows other processes put."""
    if sharding.is_fully_addressable:
        return jax.device_put(part, sharding)
    rows = np.asarray(part)
    rows = rows.astype(jax.dtypes.canonicalize_dtype(rows.dtype), copy=False)

    def wanted(index: Any) -> np.ndarray:
        moved = slice(index[dim].start - own.start, index[dim].stop - own.start)
        return rows[(*index[:dim], moved, *index[dim + 1 :])]

    return jax.make_array_from_callback(shape, sharding, wanted)


def held(part: Any, placement: Placement) -> Any:
    """Give a program's array as Python holds it: the copy on this process' own devices."""
    if not placement.spans_processes or not isinstance(part, jax.Array):
        return part
    copies = [shard.data for shard in part.addressable_shards]
    own = jax.make_array_from_single_device_arrays(part.shape, placement.here, copies)
    setattr(own, _SPANNING, part)
    return own


def _spanning(part: Any, placement: Placement) -> Any:
    known = getattr(part, _SPANNING, None)
    if known is not None and known.sharding == placement.whole and not known.is_deleted():
        return known
    if getattr(part, "sharding", None) == placement.whole:
        return part
    own = jax.device_put(part, placement.here)
    copies = [shard.data for shard in own.addressable_shards]
    return jax.make_array_from_single_device_arrays(own.shape, placement.whole, copies)


def is_at(part: Any, wanted: Sharding) -> bool:
    """Whether an array is where it should be, to stay."""
    sharding = getattr(part, "sharding", None)
    return sharding is wanted or (sharding == wanted and part.committed)


def is_shared(part: Any) -> bool:
    """Whether an array that Python holds came out of a program of all processes."""
    return getattr(part, _SPANNING, None) is not None


def to_give_away(parts: list[Any], num_holders: int) -> list[Any]:
    """Copy what somebody else holds, since a step uses up what it is given.

    A value that a program read from a variable, or made one from, must stay what it is.
    `num_holders` is how many lists and variables hold each part by our own doing.
    """
    for i in range(len(parts)):
        if sys.getrefcount(parts[i]) > num_holders + _SELF:
            parts[i] = parts[i].copy()
    return parts


def _count_self() -> int:
    """How many references Python itself counts, when asked."""
    probe = [object()]
    return sys.getrefcount(probe[0]) - 1


_SELF = _count_self()


def unshared(parts: list[Any]) -> list[Any]:
    """Copy a part that stands there twice: the same buffer cannot be used up twice."""
    seen: set[int] = set()
    distinct = []
    for part in parts:
        if id(part) in seen:
            part = part.copy()
        seen.add(id(part))
        distinct.append(part)
    return distinct
