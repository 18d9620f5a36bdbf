"""Put arrays where a step wants them, moving only what is not there yet.

In: arrays and a Layout.  Out: the same arrays for a program, or as Python holds them.
Across processes nothing travels here: each process gives its own devices' part, and takes its own
devices' copy back, without copying.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding

from manyhands.engine.layout import Layout

_SPANNING = "_manyhands_spanning"
"""Where the copy that Python holds remembers the array that spans all processes."""


def put_state(state: list[Any], places: list[Sharding], layout: Layout) -> list[Any]:
    """Give each array of a state where it is wanted; no two share a buffer."""
    state = unshared(state)
    if layout.spans_processes:
        return [_spanning(part, place, layout) for part, place in zip(state, places, strict=True)]
    astray = [i for i, part in enumerate(state) if not is_at(part, places[i])]
    if astray:
        moved = jax.device_put([state[i] for i in astray], [places[i] for i in astray])
        for i, part in zip(astray, moved, strict=True):
            state[i] = part
    return state


def put_replicated(parts: list[Any], layout: Layout) -> list[Any]:
    """Give each array for a program, a full copy on every device."""
    return put_state(parts, [layout.replicated] * len(parts), layout)


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


def local_view(part: Any, layout: Layout) -> Any:
    """Give a program's array as Python holds it: of what is replicated, the local copy.

    What is split over processes has none; it stays as it is, and shows itself where all ask.
    """
    if not layout.spans_processes or not isinstance(part, jax.Array):
        return part
    if not part.sharding.is_fully_replicated:
        return part
    copies = [shard.data for shard in part.addressable_shards]
    own = jax.make_array_from_single_device_arrays(part.shape, layout.local_copies, copies)
    setattr(own, _SPANNING, part)
    return own


def _spanning(part: Any, place: Sharding, layout: Layout) -> Any:
    """Give an array over the devices of all processes, each of which has the same."""
    known = getattr(part, _SPANNING, None)
    if known is not None and known.sharding == place and not known.is_deleted():
        return known
    if getattr(part, "sharding", None) == place:
        return part
    if not place.is_fully_replicated:
        return put(part, place)
    own = jax.device_put(part, layout.local_copies)
    copies = [shard.data for shard in own.addressable_shards]
    return jax.make_array_from_single_device_arrays(own.shape, place, copies)


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
