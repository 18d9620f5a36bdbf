"""Rows: in which order they come, and how they get to the devices without being waited for."""

from manyhands.data.array_feed import ArrayFeed, ArrayFeeder
from manyhands.data.feed import FeedCounts, FeedPolicy, Placer
from manyhands.data.order import RowOrder
from manyhands.data.stream_feed import StreamFeed, StreamFeeder

__all__ = [
    "ArrayFeed",
    "ArrayFeeder",
    "FeedCounts",
    "FeedPolicy",
    "Placer",
    "RowOrder",
    "StreamFeed",
    "StreamFeeder",
]
