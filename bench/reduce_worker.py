"""One process of `bench.processes`: times sums over the processes, of large or small arrays."""

from __future__ import annotations

import json
import time

import manyhands as mh

strategy = mh.MultiWorkerMirroredStrategy()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

REPEATS = 10
mesh = Mesh(jax.devices(), ("rows",))
split, whole = (NamedSharding(mesh, PartitionSpec(*spec)) for spec in (("rows",), ()))


def measured(count: int, size: int) -> float:
    """Milliseconds to sum `count` arrays of `size` floats each over the devices."""
    make = jax.jit(lambda: [jnp.ones((2, size))] * count, out_shardings=split)
    add = jax.jit(lambda parts: [part.sum(0) for part in parts], out_shardings=whole)
    parts = make()
    jax.block_until_ready(add(parts))
    began_s = time.perf_counter()
    for _ in range(REPEATS):
        jax.block_until_ready(add(parts))
    return round((time.perf_counter() - began_s) / REPEATS * 1e3, 2)


found = {
    f"{megabytes} MB in {count}": measured(count, megabytes * 2**18 // count)
    for megabytes in (1, 32)
    for count in (1, 4, 16, 64)
}
if strategy.group is None or strategy.group.index == 0:
    print(json.dumps({"reduce_ms": found}))
