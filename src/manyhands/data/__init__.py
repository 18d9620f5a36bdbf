"""Rows: in which order they come, and how they get to the devices without being waited for.

The names of `manyhands.data.dataset` are here too, and load when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from manyhands.data.array_feed import ArrayFeed, ArrayFeeder
from manyhands.data.feed import FeedCounts, FeedPolicy, Placer
from manyhands.data.order import RowOrder
from manyhands.data.stream_feed import StreamFeed, StreamFeeder

if TYPE_CHECKING:
    from manyhands.data.dataset import (
        AUTOTUNE,
        AutoShardPolicy,
        Dataset,
        DatasetIterator,
        FixedLenFeature,
        Options,
        RowPlan,
        TensorSpec,
        TextLineDataset,
        TFRecordDataset,
        TFRecordWriter,
        VarLenFeature,
        parse_example,
        parse_single_example,
        row_key,
    )

__all__ = [
    "AUTOTUNE",
    "ArrayFeed",
    "ArrayFeeder",
    "AutoShardPolicy",
    "Dataset",
    "DatasetIterator",
    "FeedCounts",
    "FeedPolicy",
    "FixedLenFeature",
    "Options",
    "Placer",
    "RowOrder",
    "RowPlan",
    "StreamFeed",
    "StreamFeeder",
    "TFRecordDataset",
    "TFRecordWriter",
    "TensorSpec",
    "TextLineDataset",
    "VarLenFeature",
    "parse_example",
    "parse_single_example",
    "row_key",
]

_OF_DATASET = frozenset(
    {
        "AUTOTUNE",
        "AutoShardPolicy",
        "Dataset",
        "DatasetIterator",
        "FixedLenFeature",
        "Options",
        "RowPlan",
        "TFRecordDataset",
        "TFRecordWriter",
        "TensorSpec",
        "TextLineDataset",
        "VarLenFeature",
        "parse_example",
        "parse_single_example",
        "row_key",
    }
)


def __getattr__(name: str) -> object:
    if name in _OF_DATASET:
        return getattr(importlib.import_module("manyhands.data.dataset"), name)
    raise AttributeError(f"module 'manyhands.data' has no attribute {name!r}")
