"""Stages that compare elements with each other: unique, group_by_window.

In: a stage; for groups, functions that name an element's group and make a dataset of a full one.
Out: each element the first time it comes; or the elements of those datasets, a group's as soon as
it is full, and what is left in the groups at the end, the smallest key first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.data.dataset.arguments import as_number, count
from manyhands.data.dataset.calling import Function, Place
from manyhands.data.dataset.draws import Draws, Run
from manyhands.data.dataset.flattening import made_dataset
from manyhands.data.dataset.mapping import looks_harmless
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.sources import Elements
from manyhands.data.dataset.spec import loosest
from manyhands.data.dataset.stage import UNKNOWN, Rows, Stage
from manyhands.data.dataset.structure import TEXT, leaves, same_nesting
from manyhands.errors import DataError, explain


@dataclass(eq=False)
class Unique(Stage):
    """Each element the first time it comes."""

    parent: Stage

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return "unique()"

    @property
    def way(self) -> str:
        """How it runs."""
        return "rows"

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _rows(self, run: Run) -> Rows:
        return UniqueRows(self.parent.rows(run))


class UniqueRows(Over):
    """One pass; what has come is remembered."""

    def __init__(self, source: Rows) -> None:
        super().__init__(source)
        self._seen: set[Any] = set()

    def __next__(self) -> Any:
        for row in self._source:
            same = tuple(_content(leaf) for leaf in leaves(row))
            if same not in self._seen:
                self._seen.add(same)
                return row
        raise StopIteration


def _content(leaf: Any) -> Any:
    if isinstance(leaf, bytes):
        return leaf
    array = np.asarray(leaf)
    values = tuple(array.ravel().tolist()) if array.dtype == TEXT else array.tobytes()
    return array.shape, array.dtype.str, values


@dataclass(eq=False)
class Group(Stage):
    """Elements of the datasets that a function makes of full groups."""

    parent: Stage
    key: Function
    reduce: Function
    size: int | Function
    """Elements that fill a group, or a function of its key that says how many."""
    wrap: Any
    """Makes a dataset of a stage, to be handed to the function."""
    draws: Draws | None

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return f"group_by_window({self.size if isinstance(self.size, int) else 'by key'})"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return False

    @property
    def way(self) -> str:
        """How it runs."""
        return "rows (datasets made on the way)"

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _spec(self) -> Any:
        if not looks_harmless(self.parent):
            return self.peeked_spec()
        first, nowhere = self.parent.peek(), Place(0, 0, 0)
        if not first:
            return ()
        key = self.key_of(first[0], nowhere)
        sizes = [self.made(key, first * num_rows, nowhere).spec for num_rows in (1, 2)]
        return loosest(*sizes) if same_nesting(*sizes) else sizes[0]

    def key_of(self, row: Any, place: Place) -> int:
        """Name the group of an element."""
        return _whole(self.key.raw(row, place), self.key, "the number of its group")

    def size_of(self, key: int, place: Place) -> int:
        """How many elements fill a group."""
        if isinstance(self.size, int):
            return self.size
        found = _whole(self.size.raw(np.int64(key), place), self.size, "a number of elements")
        return count(found, "what window_size_func returns")

    def made(self, key: int, rows: list[Any], place: Place) -> Stage:
        """Make the dataset of one group."""
        window = self.wrap(Elements(rows, "group", self.parent.is_batched))
        return made_dataset(self.reduce, (np.int64(key), window), place)

    def _rows(self, run: Run) -> Rows:
        assert self.draws is not None
        return GroupedRows(self, self.parent.rows(run), run, *run.draw(self.draws))


class GroupedRows(Over):
    """One pass."""

    def __init__(self, stage: Group, source: Rows, run: Run, seed: int, epoch: int) -> None:
        super().__init__(source)
        self._stage = stage
        self._run = run
        self._seed = seed
        self._epoch = epoch
        self._at = 0
        self._num_made = 0
        self._held: dict[int, list[Any]] = {}
        self._sizes: dict[int, int] = {}
        self._open: Rows | None = None

    def __next__(self) -> Any:
        while True:
            if self._open is None:
                self._open = self._made(*(self._full() or self._left()))
            for row in self._open:
                return row
            self._open.close()
            self._open = None

    def _full(self) -> tuple[int, list[Any]] | None:
        for row in self._source:
            place = Place(self._seed, self._epoch, self._at)
            self._at += 1
            key = self._stage.key_of(row, place)
            if key not in self._sizes:
                self._sizes[key] = self._stage.size_of(key, place)
            held = self._held.setdefault(key, [])
            held.append(row)
            if len(held) == self._sizes[key]:
                return key, self._held.pop(key)
        return None

    def _left(self) -> tuple[int, list[Any]]:
        if not self._held:
            raise StopIteration
        key = min(self._held)
        return key, self._held.pop(key)

    def _made(self, key: int, rows: list[Any]) -> Rows:
        place = Place(self._seed, self._epoch, self._num_made)
        self._num_made += 1
        stage = self._stage.made(key, rows, place)
        run = self._run.inner(stage.places(), self._seed, self._epoch, place.position)
        return stage.rows(run)

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            self._open.close()
        super().close()


def _whole(found: Any, function: Function, what: str) -> int:
    number = as_number(found)
    if number.shape == () and number.dtype.kind in "iu":
        return int(number)
    raise DataError(
        explain(
            f"The function given to {function.stage} has to return {what}.",
            got=f"{number.dtype} of shape {number.shape}",
            fix="return one whole number, cast to int64 where it is a float or a bool.",
        )
    )
