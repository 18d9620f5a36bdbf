"""Batches, placed on a strategy's devices before they are asked for.

In: anything that yields batches.  Out: the same batches, their rows split over the devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from manyhands.data.feed import Ahead
from manyhands.engine import Placement
from manyhands.engine.function import LoopsOverDataError
from manyhands.engine.step_program import place_rows
from manyhands.engine.step_scope import current_step
from manyhands.errors import DataError, explain

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

    def __init__(self, dataset: Any, placement: Placement, *, per_replica: bool = False) -> None:
        self.dataset = dataset
        self._placement = placement
        self._per_replica = per_replica and placement.num_replicas > 1

    def __iter__(self) -> DistributedIterator:
        refuse_in_trace()
        return DistributedIterator(iter(self.global_batches()), self._placement, self.dataset)

    def __len__(self) -> int:
        count = len(self.dataset)
        return -(-count // self._placement.num_replicas) if self._per_replica else count

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
        return _joined(self.dataset, self._placement.num_replicas)


class DistributedIterator:
    """One pass over batches, a few of them placed ahead."""

    def __init__(self, batches: Any, placement: Placement, source: Any) -> None:
        self._batches = batches
        self._placement = placement
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
        try:
            placed = self._ahead.next(iter(self._read_next, None))
        except BaseException:
            self.close()
            raise
        if placed is _END:
            self.close()
            raise StopIteration
        self._num_given += 1
        return placed

    def get_next(self) -> Any:
        """Give the next batch."""
        return next(self)

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
        batches: Any = iter(self._source)
        batches.set_state(state["start"])
        for _ in range(state["num_given"]):
            next(batches, None)
        self._batches, self._start = batches, state["start"]
        self._num_given, self._ended = state["num_given"], False
        self._ahead = Ahead(1, _AHEAD)

    def close(self) -> None:
        """Let go of the thread."""
        self._ended = True
        self._ahead.close()

    def __del__(self) -> None:
        self._ahead.close()

    def _read_next(self) -> Callable[[], Any]:
        return self._read

    def _read(self) -> Any:
        batch = next(self._batches, _END)
        return batch if batch is _END else place(batch, self._placement)


_END = object()


def refuse_in_trace() -> None:
    """Keep data from being read while a function is traced: the function then runs eagerly."""
    if current_step() is not None:
        raise LoopsOverDataError("it reads data")


def place(batch: Any, placement: Placement) -> Any:
    """Split the rows of a batch over the devices; what has no rows stays as it is."""

    def placed(part: Any) -> Any:
        if not isinstance(part, np.ndarray | jax.Array) or np.ndim(part) == 0 or len(part) == 0:
            return part
        if getattr(part, "dtype", np.dtype("O")).kind in "OSU":
            return part
        rows = place_rows(part, placement)
        return rows if placement.num_replicas > 1 else rows.array

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
