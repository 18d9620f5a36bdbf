"""DatasetChanges: tf.data's words for changing pipelines.

In: datasets, functions.  Out: datasets.  Arguments are checked here; what they do
is in the stages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from manyhands.data.dataset.ahead import Prefetch
from manyhands.data.dataset.arguments import (
    count,
    dataset_of,
    flag,
    many,
    paths_of,
    seed_of,
    threads,
    whole,
)
from manyhands.data.dataset.batching import Batch, Unbatch
from manyhands.data.dataset.bucketing import Bucket, Buckets
from manyhands.data.dataset.caching import Cache
from manyhands.data.dataset.core import Core
from manyhands.data.dataset.draws import Draws
from manyhands.data.dataset.filtering import Filter, TakeWhile
from manyhands.data.dataset.flattening import Interleave, Window
from manyhands.data.dataset.grouping import Group, Unique
from manyhands.data.dataset.mapping import Map
from manyhands.data.dataset.options import HINT_TITLE, SHARD_HINT
from manyhands.data.dataset.ordering import Concatenate, Enumerate, Repeat, Shuffle, Slice
from manyhands.data.dataset.padding import Padding
from manyhands.data.dataset.scanning import Scan
from manyhands.data.dataset.structure import as_element, map_leaves, same_nesting
from manyhands.errors import DataError, explain

AUTOTUNE = -1
CYCLE = 4
"""Datasets open at a time in `interleave`, where the user leaves it to us."""


class DatasetChanges(Core):
    """The ways to make a new dataset of one that is there."""

    # Order

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Draw each element from a buffer of the next `buffer_size`."""
        size = count(buffer_size, "buffer_size")
        again = reshuffle_each_iteration is not False
        return self._then(Shuffle(self.stage, size, Draws(seed_of(seed), again)))

    def repeat(self, count: int | None = None, name: str | None = None) -> Self:  # noqa: ARG002
        """Give the elements so many times; for ever when not told."""
        return self._then(Repeat(self.stage, -1 if count is None else whole(count, "count")))

    def take(self, count: int, name: str | None = None) -> Self:  # noqa: ARG002
        """Give the first `count`; all when -1."""
        count = whole(count, "count")
        return self._then(Slice(self.stage, f"take({count})", count=count))

    def skip(self, count: int, name: str | None = None) -> Self:  # noqa: ARG002
        """Leave out the first `count`; all when -1."""
        count = whole(count, "count")
        if count < 0:
            return self._then(Slice(self.stage, "skip(-1)", count=0))
        return self._then(Slice(self.stage, f"skip({count})", start=count))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Self:  # noqa: ARG002
        """Give every `num_shards`-th element, from number `index` on."""
        index = whole(index, "index")
        if whole(num_shards, "num_shards") == index == SHARD_HINT:
            return self._then(Slice(self.stage, HINT_TITLE))
        step = count(num_shards, "num_shards")
        if not 0 <= index < step:
            raise DataError(
                explain(
                    "There is no such shard.",
                    got=f"index {index} of {step} shards",
                    fix=f"choose an index from 0 to {step - 1}.",
                )
            )
        title = f"shard({step}, {index})"
        return self._then(Slice(self.stage, title, start=index, step=step))

    def concatenate(self, dataset: Core, name: str | None = None) -> Self:  # noqa: ARG002
        """Give another dataset's elements after these."""
        dataset = dataset_of(dataset, "concatenate")
        if not same_nesting(self.element_spec, dataset.element_spec):
            raise DataError(
                explain(
                    "Datasets can follow each other only if their elements are nested alike.",
                    got=f"{self.element_spec} and {dataset.element_spec}",
                    fix="map one of them to the nesting of the other.",
                )
            )
        return self._then(Concatenate(self.stage, dataset.stage))

    def enumerate(self, start: int = 0, name: str | None = None) -> Self:  # noqa: ARG002
        """Give each element with its number."""
        return self._then(Enumerate(self.stage, whole(start, "start")))

    # Functions

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,  # noqa: ARG002 - the order is always kept
        **_: Any,
    ) -> Self:
        """Apply a function to each element; compiled over whole batches where JAX can trace it."""
        function = self._function(map_func, "map")
        return self._then(Map(self.stage, function, threads(num_parallel_calls), Draws()))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:  # noqa: ARG002
        """Give the elements for which a function says yes."""
        return self._then(Filter(self.stage, self._function(predicate, "filter"), Draws()))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Self:  # noqa: ARG002
        """Give the elements before the first for which a function says no."""
        return self._then(TakeWhile(self.stage, self._function(predicate, "take_while"), Draws()))

    def scan(
        self,
        initial_state: Any,
        scan_func: Callable[[Any, Any], Any],
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Apply a function that remembers: `scan_func(state, element)` gives state and result."""
        first, function = as_element(initial_state), self._function(scan_func, "scan")
        return self._then(Scan(self.stage, function, Draws(), first=first))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Self:  # noqa: ARG002
        """Give the elements of the dataset that a function makes from each element."""
        return self._then(
            Interleave(self.stage, self._function(map_func, "flat_map"), 1, 1, Draws())
        )

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,  # noqa: ARG002 - the order is always kept
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Read the datasets that a function makes in turns, `cycle_length` of them at a time."""
        cycle = CYCLE if cycle_length is None else whole(cycle_length, "cycle_length")
        cycle = CYCLE if cycle == AUTOTUNE else count(cycle, "cycle_length")
        block = count(1 if block_length is None else block_length, "block_length")
        function = self._function(map_func, "interleave")
        ahead = threads(num_parallel_calls)
        return self._then(Interleave(self.stage, function, cycle, block, Draws(), ahead))

    def apply(self, transformation_func: Callable[[Self], Any]) -> Any:
        """Call a function on the dataset."""
        made = self._function(transformation_func, "apply").spread(self)
        return dataset_of(made, "apply, of its function,")

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Fold the elements into one state: `reduce_func(state, element)`."""
        hand, function = self._hand(), self._function(reduce_func, "reduce")
        state = map_leaves(hand, as_element(initial_state))
        for element in self:
            state = function.spread((state, element))
        return map_leaves(hand, as_element(state))

    # Batches

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,  # noqa: ARG002
        deterministic: bool | None = None,  # noqa: ARG002
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Put `batch_size` elements into one."""
        return self._then(
            Batch(
                self.stage, count(batch_size, "batch_size"), flag(drop_remainder, "drop_remainder")
            )
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Put `batch_size` elements into one, padded to one shape."""
        size = count(batch_size, "batch_size")
        padding = Padding(padded_shapes, padding_values)
        return self._then(Batch(self.stage, size, flag(drop_remainder, "drop_remainder"), padding))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Batch elements of about one length, padded to the longest of them."""
        buckets = Buckets(
            ends=tuple(
                whole(end, "bucket_boundaries")
                for end in many(bucket_boundaries, "bucket_boundaries")
            ),
            sizes=tuple(
                count(size, "bucket_batch_sizes")
                for size in many(bucket_batch_sizes, "bucket_batch_sizes")
            ),
            padding=None
            if flag(no_padding, "no_padding")
            else Padding(padded_shapes, padding_values),
            to_the_end=flag(pad_to_bucket_boundary, "pad_to_bucket_boundary"),
            drop_remainder=flag(drop_remainder, "drop_remainder"),
        )
        function = self._function(element_length_func, "bucket_by_sequence_length")
        return self._then(Bucket(self.stage, function, buckets, Draws()))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Self], Any],
        window_size: int | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Give `reduce_func(key, dataset)` of every `window_size` elements with the same key."""
        if (window_size is None) == (window_size_func is None):
            raise DataError(
                explain(
                    "group_by_window needs window_size or window_size_func, one of the two.",
                    got="both" if window_size is not None else "none",
                    fix="give window_size=…, or window_size_func=lambda key: … to choose by key.",
                )
            )
        size = (
            count(window_size, "window_size")
            if window_size_func is None
            else self._function(window_size_func, "group_by_window as window_size_func")
        )
        key = self._function(key_func, "group_by_window as key_func")
        reduce = self._function(reduce_func, "group_by_window as reduce_func")
        return self._then(Group(self.stage, key, reduce, size, self._of, Draws()))

    def unique(self, name: str | None = None) -> Self:  # noqa: ARG002
        """Give each element the first time it comes; all of them are kept in memory."""
        return self._then(Unique(self.stage))

    def unbatch(self, name: str | None = None) -> Self:  # noqa: ARG002
        """Give the rows of each element."""
        return self._then(Unbatch(self.stage))

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,  # noqa: ARG002
    ) -> Self:
        """Give runs of elements, as datasets."""
        size = count(size, "size")
        shift = count(size if shift is None else shift, "shift")
        step = count(stride, "stride")
        wrap = lambda stage: self._of(stage)  # noqa: E731
        return self._then(
            Window(self.stage, size, shift, step, flag(drop_remainder, "drop_remainder"), wrap)
        )

    # Keeping and reading ahead

    def cache(self, filename: Any = "", name: str | None = None) -> Self:  # noqa: ARG002
        """Keep the elements of the first complete pass, in memory or in a file."""
        is_named = not isinstance(filename, str | bytes) or filename
        named = os.fsdecode(paths_of([filename])[0]) if is_named else ""
        return self._then(Cache(self.stage, Path(named) if named else None))

    def prefetch(self, buffer_size: int, name: str | None = None) -> Self:  # noqa: ARG002
        """Read so many elements ahead, on a thread."""
        return self._then(Prefetch(self.stage, max(AUTOTUNE, whole(buffer_size, "buffer_size"))))

    def get_single_element(self, name: str | None = None) -> Any:  # noqa: ARG002
        """Give the only element."""
        found = [element for element, _ in zip(self, (0, 1), strict=False)]
        if len(found) != 1:
            raise DataError(
                explain(
                    "get_single_element needs a dataset of one element.",
                    got="none" if not found else "more than one",
                    fix="use take(1), or batch everything into one element.",
                )
            )
        return found[0]
