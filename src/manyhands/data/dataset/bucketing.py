"""The stage that batches elements of about one length.

In: a stage, a function that says how long an element is, and where a bucket ends.  Out: a batch
whenever a bucket is full; what is left in the buckets at the end, the shortest first.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from manyhands.data.dataset.arguments import as_number
from manyhands.data.dataset.batching import stack
from manyhands.data.dataset.calling import Function, Place
from manyhands.data.dataset.draws import Draws, Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.padding import Padding
from manyhands.data.dataset.spec import with_rows
from manyhands.data.dataset.stage import UNKNOWN, Rows, Stage
from manyhands.errors import DataError, explain


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Where buckets end, how many elements fill each, and how those are put together."""

    ends: tuple[int, ...]
    sizes: tuple[int, ...]
    padding: Padding | None
    to_the_end: bool = False
    """Whether a batch is padded to the longest that its bucket takes."""
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.ends) + 1 or list(self.ends) != sorted(set(self.ends)):
            raise DataError(
                explain(
                    "Buckets have growing boundaries, and one batch size more than those.",
                    got=f"boundaries {self.ends}, batch sizes {self.sizes}",
                    fix="give a batch size for each bucket, also for the one past the last end.",
                )
            )

    def batch(self, bucket: int, rows: list[Any], spec: Any) -> Any:
        """Put the rows of one bucket together."""
        if self.padding is None:
            return stack(rows)
        padding = self._to_the_end(bucket, spec) if self.to_the_end else self.padding
        return stack([*padding.padded(rows)])

    def _to_the_end(self, bucket: int, spec: Any) -> Padding:
        assert self.padding is not None
        if bucket == len(self.ends):
            raise DataError(
                explain(
                    "An element is too long to be padded to the end of its bucket.",
                    got=f"a length of {self.ends[-1] if self.ends else 0} or more",
                    fix="give a larger last boundary, or filter such elements out.",
                )
            )
        return self.padding.filled(spec, self.ends[bucket] - 1)


@dataclass(eq=False)
class Bucket(Stage):
    """Batches of elements of about one length."""

    parent: Stage
    function: Function
    buckets: Buckets
    draws: Draws | None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"bucket_by_sequence_length({list(self.buckets.ends)}, {list(self.buckets.sizes)})"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return True

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _spec(self) -> Any:
        padding, spec = self.buckets.padding, self.parent.spec
        return with_rows(spec if padding is None else padding.spec(spec), None)

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        return BucketedRows(self, self.parent.rows(run), *run.draw(self.draws))


class BucketedRows(Over):
    """One pass of batches."""

    def __init__(self, stage: Bucket, source: Rows, seed: int, epoch: int) -> None:
        super().__init__(source)
        self._stage = stage
        self._seed = seed
        self._epoch = epoch
        self._at = 0
        self._held: dict[int, list[Any]] = {}

    def __next__(self) -> Any:
        buckets = self._stage.buckets
        bucket, rows = self._full() or self._left()
        spec = self._stage.parent.spec if buckets.to_the_end else None
        return buckets.batch(bucket, rows, spec)

    def skip(self, count: int) -> int:
        """Pass over batches without putting them together: elements have to be looked at."""
        for done in range(count):
            try:
                _ = self._full() or self._left()
            except StopIteration:
                return done
        return count

    def _full(self) -> tuple[int, list[Any]] | None:
        buckets = self._stage.buckets
        for row in self._source:
            place = Place(self._seed, self._epoch, self._at)
            self._at += 1
            bucket = bisect_right(buckets.ends, _length(self._stage.function.raw(row, place)))
            held = self._held.setdefault(bucket, [])
            held.append(row)
            if len(held) == buckets.sizes[bucket]:
                return bucket, self._held.pop(bucket)
        return None

    def _left(self) -> tuple[int, list[Any]]:
        if not self._held or self._stage.buckets.drop_remainder:
            raise StopIteration
        bucket = min(self._held)
        return bucket, self._held.pop(bucket)


def _length(found: Any) -> int:
    length = as_number(found)
    if length.shape == () and length.dtype.kind in "iu":
        return int(length)
    raise DataError(
        explain(
            "The function given to bucket_by_sequence_length has to say how long an element is.",
            got=f"{length.dtype} of shape {length.shape}",
            fix="return one whole number, such as the first number of its shape.",
        )
    )
