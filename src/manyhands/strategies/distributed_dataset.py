"""Batches, placed on a strategy's devices before they are asked for.

In: anything that yields batches.  Out: the same batches, their rows split over the devices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from manyhands.data.dataset import Core
from manyhands.data.dataset.optional import Optional, next_of
from manyhands.data.dataset.own_batch import Part
from manyhands.data.dataset.sharding import cut, share_of
from manyhands.data.feed import Ahead
from manyhands.engine import Layout
from manyhands.engine.agreement import Uneven, agreement_on
from manyhands.engine.split_rows import split_own_rows, split_rows
from manyhands.errors import DataError, explain
from manyhands.keras_bridge.function import LoopsOverDataError
from manyhands.keras_bridge.step_scope import current_step
from manyhands.tracebacks import for_the_program

_AHEAD = 2


@dataclass(frozen=True, slots=True)
class InputContext:
    """What a function that makes a dataset may know of who reads it."""

    num_replicas_in_sync: int
    num_input_pipelines: int = 1
    input_pipeline_id: int = 0

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Divide a global batch among the replicas."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The global_batch_size {global_batch_size!r} is not divisible by "
                f"num_replicas_in_sync {self.num_replicas_in_sync!r}"
            )
        return global_batch_size // self.num_replicas_in_sync


@dataclass(frozen=True, slots=True)
class ValueContext:
    """What a function that makes one replica's value may know of it."""

    replica_id_in_sync_group: int
    num_replicas_in_sync: int


class DistributedDataset:
    """Batches with their rows split over the devices.

    Args:
        dataset: what yields global batches, or one batch a replica if `per_replica`.
    """

    def __init__(self, dataset: Any, layout: Layout, *, per_replica: bool = False) -> None:
        self.dataset = dataset
        self._layout = layout
        self._per_replica = per_replica and layout.num_replicas > 1

    def __iter__(self) -> DistributedIterator:
        refuse_in_trace()
        if not self._layout.spans_processes:
            return DistributedIterator(iter(self.global_batches()), self._layout, self.dataset)
        batches, kind = self.own_batches()
        return DistributedIterator(batches, self._layout, self.dataset, kind)

    @property
    def is_per_replica(self) -> bool:
        """Whether the dataset gives one batch a replica."""
        return self._per_replica

    def own_batches(self) -> tuple[Any, str]:
        """Start a pass over what this process reads; say what that is."""
        count = len(self._layout.local_devices)
        if self._per_replica:
            return _joined(self.dataset, count), "own"
        if not isinstance(self.dataset, Core):
            return iter(self.dataset), "common"
        agreement = agreement_on(self._layout)
        assert agreement is not None, "there are several processes"
        group, rows = agreement.group, self._layout.rows.share
        share = share_of(self.dataset, group.index, group.size, rows)
        return (cut(share.open(), rows) if share.kind == "own" else share.open()), share.kind

    def __len__(self) -> int:
        count = len(self.dataset)
        return -(-count // self._layout.num_replicas) if self._per_replica else count

    @property
    def element_spec(self) -> Any:
        """What the elements look like."""
        return self.dataset.element_spec

    def cardinality(self) -> Any:
        """How many batches there are."""
        return self.dataset.cardinality()

    def global_batches(self) -> Iterable[Any]:
        """Give the global batches as they come from the dataset, on the host."""
        if not self._per_replica:
            return self.dataset
        return _joined(self.dataset, self._layout.num_replicas)


class DistributedIterator:
    """One pass over batches, a few of them placed ahead."""

    def __init__(self, batches: Any, layout: Layout, source: Any, kind: str = "common") -> None:
        self._kind = kind
        self._agreement = agreement_on(layout)
        self._channel = _new_channel()
        self._no_rows: Any = None
        if self._agreement is not None and kind != "own":
            self._agreement.passes(batches, channel=self._channel)
        self._batches = batches
        self._layout = layout
        self._source = source
        self._ahead = Ahead(1, _AHEAD)
        self._ended = False
        self._start = batches.get_state() if hasattr(batches, "get_state") else None
        self._num_given = 0

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        refuse_in_trace()
        if self._ended:
            raise StopIteration
        with for_the_program:
            return self._next()

    def _next(self) -> Any:
        agreement = self._agreement
        try:
            with nullcontext() if agreement is None else agreement.waiting("waiting for rows"):
                placed = self._ahead.next(iter(self._read_next, None))
        except BaseException:
            self.close()
            raise
        if placed is _END:
            self.close()
            raise StopIteration
        self._num_given += 1
        if isinstance(placed, Uneven):
            assert self._agreement is not None, "there are several processes"
            return place(self._agreement.even(placed), self._layout)
        return placed

    def get_next(self) -> Any:
        """Give the next batch."""
        return next(self)

    def get_next_as_optional(self) -> Optional:
        """Give the next batch, or say that there is none."""
        return next_of(self)

    def get_state(self) -> dict[str, Any]:
        """Say where we are: where the pass began, and how many batches it has given since."""
        if self._start is None:
            raise DataError(
                explain(
                    "The position in this data cannot be saved.",
                    got=f"a distributed {type(self._source).__name__}",
                    fix="distribute a manyhands Dataset (mh.data.Dataset, tf.data.Dataset).",
                )
            )
        return {"start": self._start, "num_given": self._num_given}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go where a saved position says."""
        self._ahead.close()
        start = state["start"]
        self._batches.set_state({**start, "position": start["position"] + state["num_given"]})
        self._start = start
        self._num_given, self._ended = state["num_given"], False
        self._ahead = Ahead(1, _AHEAD)

    def close(self) -> None:
        """Let go of the thread."""
        self._ended = True
        self._ahead.close()

    def __del__(self) -> None:
        try:  # not contextlib's words: at exit that module may be gone before us
            self._ahead.close()
        except Exception:  # at exit, or not quite made: parts may be missing
            pass

    def _read_next(self) -> Callable[[], Any]:
        return self._read

    def _read(self) -> Any:
        batch = next(self._batches, _END)
        if self._agreement is None or self._kind == "common":
            self._same(batch)
            return batch if batch is _END else place(batch, self._layout)
        ended = batch is _END
        batch, total = (
            batch if isinstance(batch, Part) else (self._no_rows if ended else batch, None)
        )
        if not ended:
            self._no_rows = jax.tree.map(lambda part: part[:0], batch)
        found = self._agreement.rows(batch, total, ended=ended, channel=self._channel)
        return _END if found is None else place(*found[:1], self._layout, found[1])

    def _same(self, batch: Any) -> None:
        if self._agreement is not None:
            shapes = [list(np.shape(part)) for part in jax.tree.leaves(batch)]
            mine = "no more" if batch is _END else shapes
            self._agreement.same("the next batch", mine, channel=self._channel)


_channels = itertools.count()


def _new_channel() -> str:
    """Name a channel: every process makes its iterators in the same order."""
    return f"data {next(_channels)}"


_END = object()


def refuse_in_trace() -> None:
    """Keep data from being read while a function is traced: the function then runs eagerly."""
    if current_step() is not None:
        raise LoopsOverDataError("it reads data")


def place(batch: Any, layout: Layout, num_rows: int | None = None) -> Any:
    """Split the rows of a batch over the devices; what has no rows stays as it is.

    With `num_rows`, the batch is this process' share of so many.
    """

    def placed(part: Any) -> Any:
        if not isinstance(part, np.ndarray | jax.Array) or np.ndim(part) == 0:
            return part
        if getattr(part, "dtype", np.dtype("O")).kind in "OSU":
            return part
        if num_rows is not None:
            return split_own_rows(part, layout, num_rows)
        if len(part) == 0:
            return part
        rows = split_rows(part, layout)
        return rows if layout.num_replicas > 1 else rows.array

    return jax.tree.map(placed, batch)


def _joined(batches: Iterable[Any], count: int) -> Iterator[Any]:
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if len(held) == count:
            yield _concatenated(held)
            held = []
    if held:
        yield _concatenated(held)


def _concatenated(held: list[Any]) -> Any:
    return jax.tree.map(lambda *parts: np.concatenate([np.asarray(p) for p in parts]), *held)
