"""Put the state of a step where it lives, moving only what is not there yet.

In: arrays and a sharding.  Out: the same arrays at that sharding, no two of which share a buffer.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Sharding


def put_whole(parts: list[Any], wanted: Sharding) -> list[Any]:
    """Give each array at the wanted sharding; those that are there stay."""
    parts = unshared(parts)
    astray = [i for i, part in enumerate(parts) if not is_at(part, wanted)]
    if astray:
        moved = jax.device_put([parts[i] for i in astray], wanted)
        for i, part in zip(astray, moved, strict=True):
            parts[i] = part
    return parts


def is_at(part: Any, wanted: Sharding) -> bool:
    """Whether an array is where it should be, to stay."""
    sharding = getattr(part, "sharding", None)
    return sharding is wanted or (sharding == wanted and part.committed)


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
