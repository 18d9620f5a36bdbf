"""A pipeline that only picks rows of arrays, for whoever keeps the arrays on devices.

In: the last stage.  Out: a RowPlan (arrays, batch size, and an order of row numbers for each pass),
or None where something else happens to the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manyhands.data.dataset.ahead import Prefetch
from manyhands.data.dataset.batching import Batch
from manyhands.data.dataset.caching import Cache
from manyhands.data.dataset.ordering import Repeat, Shuffle, Slice
from manyhands.data.dataset.orders import Order
from manyhands.data.dataset.sources import Slices
from manyhands.data.dataset.stage import Stage, start


@dataclass(frozen=True, kw_only=True)
class RowPlan:
    """Batches of rows of arrays.

    `open()` starts a pass, as iterating does; its order's `take(batch_size)[:, 0]` are the row
    numbers of the next batch (int64, fewer at the end), `skip(n)` passes over n rows.  Gathering
    `arrays` by them gives exactly what iterating the dataset gives.
    """

    arrays: Any
    batch_size: int
    drop_remainder: bool
    num_batches: int
    """Of a pass: a number, -1 for infinite."""
    open: Callable[[], Order]


def row_plan(stage: Stage) -> RowPlan | None:
    """Find the plan of a pipeline, if it has one."""
    while isinstance(stage, Prefetch):
        stage = stage.parent
    if not isinstance(stage, Batch) or stage.padding is not None:
        return None
    chain = list(stage.parent.walk())
    source = chain[0]
    plan = stage.parent.plan
    plain = (Shuffle, Repeat, Slice, Cache, Prefetch)
    if not isinstance(source, Slices) or plan is None or plan.is_traced:
        return None
    if not all(isinstance(part, plain) for part in chain[1:]):
        return None
    return RowPlan(
        arrays=source.arrays,
        batch_size=stage.size,
        drop_remainder=stage.drop_remainder,
        num_batches=stage.length(),
        open=lambda: plan.open(start(stage)),
    )
