"""Who reads which rows of a dataset, where several processes train together.

In: a dataset, its AutoShardPolicy, and this process' place.  Out: a Share: the batches that this
process reads, and what they are: its part of common batches, or batches of its own.

AUTO and DATA  every process goes through the same batches in the same order, and reads only its
               own rows of each, wherever batches are made by `batch` alone; elsewhere it reads all
               rows and leaves out the others'.
FILE           every process reads its own files.
HINT           as the dataset's own `shard(SHARD_HINT, SHARD_HINT)` says.
OFF            every process reads what its own pipeline gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from manyhands.data.dataset.ahead import Prefetch
from manyhands.data.dataset.batching import Batch
from manyhands.data.dataset.core import Core
from manyhands.data.dataset.iterator import DatasetIterator
from manyhands.data.dataset.options import HINT_TITLE, AutoShardPolicy
from manyhands.data.dataset.ordering import Slice
from manyhands.data.dataset.own_batch import OwnBatch
from manyhands.data.dataset.stage import Stage
from manyhands.data.dataset.structure import TEXT, leaves, map_leaves
from manyhands.errors import DataError, explain

ShareOf = Callable[[int], slice]
"""Gives this process' rows of a batch of so many."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one process reads."""

    stage: Stage
    kind: str
    """"parts": its rows of common batches; "common": common batches; "own": batches of its own."""

    def open(self) -> DatasetIterator:
        """Start a pass; elements are NumPy arrays."""
        return DatasetIterator(self.stage, None)


def share_of(dataset: Core, index: int, size: int, rows: ShareOf) -> Share:
    """Choose what a process reads of a dataset whose batches are global."""
    policy = dataset.options().experimental_distribute.auto_shard_policy
    if policy == AutoShardPolicy.FILE:
        return Share(_own_files(dataset.stage, index, size), "own")
    if policy == AutoShardPolicy.HINT:
        return Share(_hinted(dataset.stage, index, size), "own")
    if policy == AutoShardPolicy.OFF:
        return Share(dataset.stage, "own")
    parts = _own_parts(dataset.stage, rows)
    return Share(dataset.stage, "common") if parts is None else Share(parts, "parts")


def _own_parts(stage: Stage, rows: ShareOf) -> Stage | None:
    if isinstance(stage, Prefetch):
        inner = _own_parts(stage.parent, rows)
        return None if inner is None else replace(stage, parent=inner)
    if type(stage) is Batch and stage.padding is None:
        return OwnBatch(stage.parent, stage.size, stage.drop_remainder, share=rows)
    return None


def _own_files(stage: Stage, index: int, size: int) -> Stage:
    def sharded(source: Stage) -> Stage:
        if any(part.dtype != TEXT for part in leaves(source.spec)):
            raise DataError(
                explain(
                    "AutoShardPolicy.FILE needs a dataset that begins with names of files.",
                    got=f"one that begins with {source.title}",
                    fix="use AutoShardPolicy.DATA, or list_files and TFRecordDataset.",
                )
            )
        if 0 <= source.length() < size:
            raise DataError(
                explain(
                    "There are fewer files than processes, so some would have nothing to read.",
                    got=f"{source.length()} files for {size} processes",
                    fix="use AutoShardPolicy.DATA, or write the data into more files.",
                )
            )
        return Slice(source, f"shard({size}, {index})", start=index, step=size)

    return _with_sources(stage, sharded)


def _hinted(stage: Stage, index: int, size: int) -> Stage:
    found = [part for part in stage.walk() if part.title == HINT_TITLE]
    if not found:
        raise DataError(
            explain(
                "AutoShardPolicy.HINT needs a dataset that says where to divide it.",
                got="no shard(tf.data.experimental.SHARD_HINT, …) in the pipeline",
                fix="add .shard(SHARD_HINT, SHARD_HINT), or use another policy.",
            )
        )

    def sharded(part: Stage) -> Stage:
        if part.title != HINT_TITLE:
            return part
        return Slice(part.parents[0], f"shard({size}, {index})", start=index, step=size)

    return _rebuilt(stage, sharded)


def _with_sources(stage: Stage, change: Callable[[Stage], Stage]) -> Stage:
    return _rebuilt(stage, lambda part: part if part.parents else change(part))


def _rebuilt(stage: Stage, change: Callable[[Stage], Stage]) -> Stage:
    """Make a pipeline anew with some of its stages changed."""
    if not stage.parents:
        return change(stage)
    before = stage.parents
    after = tuple(_rebuilt(parent, change) for parent in before)
    names = {"parent": after[0]} if hasattr(stage, "parent") else {}
    if not names:
        raise DataError(
            explain(
                "This dataset cannot be divided by files.",
                got=f"a pipeline with {stage.title}",
                fix="use AutoShardPolicy.DATA, or divide the files by hand and use OFF.",
            )
        )
    return change(replace(stage, **names))  # pyright: ignore[reportArgumentType]


def cut(batches: Iterator[Any], rows: ShareOf) -> Iterator[Any]:
    """Cut batches of a process' own into pieces as large as its part of a global batch."""
    for batch in batches:
        parts = leaves(batch)
        total = len(parts[0]) if parts else 0
        share = rows(total)
        size = max(1, share.stop - share.start)
        for start in range(0, total, size):
            yield _piece(batch, slice(start, start + size))


def _piece(batch: Any, rows: slice) -> Any:
    return map_leaves(lambda part: part[rows], batch)
