"""Rows: in which order they come, and how they get to the devices without being waited for."""

from manyhands.data.feed import ArrayFeeder, FeedCounts, FeedPolicy, Placer, StreamFeeder
from manyhands.data.order import RowOrder

__all__ = ["ArrayFeeder", "FeedCounts", "FeedPolicy", "Placer", "RowOrder", "StreamFeeder"]
