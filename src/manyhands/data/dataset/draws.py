"""Which random numbers a pass draws: seeds, and how often a stage has been read.

In: the seeds users give, and counts of iterations.  Out: (seed, epoch) for a stage's next pass.
An epoch is the number of the iteration and of the pass within it (`repeat` makes several), so what
is drawn depends on nothing that threads or reading ahead could change.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

_PASS_BITS = 31
_BLOCK = 4096


@dataclass(eq=False)
class Draws:
    """The randomness of one stage; every dataset made from it shares it."""

    seed: int | None = None
    again: bool = True
    """Whether another pass draws anew."""
    iteration: int = 0

    def settle(self) -> int:
        """Give the seed, choosing one the first time if the user gave none.

        Chosen by Python's generator, as Keras does: `keras.utils.set_random_seed` fixes it.
        """
        if self.seed is None:
            self.seed = random.getrandbits(31)
        return self.seed


Path = tuple[int, ...]
"""Where in a tree of stages: which way was taken at each fork (zip, concatenate)."""
Places = dict[Draws, list[Path]]
"""Every place where a stage that draws stands; several where datasets share it."""


@dataclass
class Run:
    """One iteration over a dataset: which epochs its stages are at."""

    begun: dict[Draws, tuple[int, int]]
    """Seed and iteration number of each stage that draws."""
    places: Places
    only_rows: bool = False
    stem: tuple[int, ...] = ()
    """For datasets made on the way (`flat_map`): where they were made."""
    path: Path = ()
    _passes: dict[tuple[Draws, Path], int] = field(default_factory=dict)

    def draw(self, draws: Draws) -> tuple[int, int]:
        """Seed and epoch of this stage's next pass.

        A stage that stands in several places counts passes in each by itself, so that it does not
        matter which of them is read first.
        """
        seed, iteration = self.begun.get(draws) or (self._inner_seed(draws), 0)
        number = self._passes.get((draws, self.path), 0)
        self._passes[draws, self.path] = number + 1
        paths = self.places[draws]
        number = number * len(paths) + paths.index(self.path)
        return seed, (iteration << _PASS_BITS | number) if draws.again else 0

    def _inner_seed(self, draws: Draws) -> int:
        if draws.seed is not None:
            return draws.seed
        return mixed(*self.stem, list(self.places).index(draws))

    def branch(self, way: int) -> Run:
        """Give the same iteration, one way at a fork."""
        return replace(self, path=(*self.path, way))

    def afresh(self) -> Run:
        """Give the same iteration from its beginning: what a cache reads, however often."""
        return replace(self, _passes={})

    def inner(self, places: Places, *stem: int) -> Run:
        """Give the run of a dataset made at this place."""
        return Run({}, places, self.only_rows, (*self.stem, *stem))


def begin(places: Places, *, only_rows: bool = False, counted: bool = True) -> Run:
    """Start an iteration; `counted=False` looks without using an iteration up."""
    begun = {}
    for draws in places:
        begun[draws] = (draws.settle(), draws.iteration)
        draws.iteration += counted
    return Run(begun, places, only_rows)


def mixed(*numbers: int) -> int:
    """Mix numbers into one seed."""
    words = [word for number in numbers for word in (number & 0xFFFFFFFF, number >> 32)]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


class Picker:
    """A stream of choices, the same whether taken many at a time or one by one (not both)."""

    def __init__(self, seed: int, epoch: int) -> None:
        self._words = [seed & 0xFFFFFFFF, seed >> 32, epoch & 0xFFFFFFFF, epoch >> 32]
        self._bits = np.random.PCG64(np.random.SeedSequence([*self._words, 0]))
        self._ready = np.empty(0, np.uint64)
        self._listed: list[int] = []

    def pick(self, size: int, count: int) -> list[int]:
        """Choose `count` times, each below `size`."""
        while len(self._ready) < count:
            drawn = self._bits.random_raw(max(_BLOCK, count)) >> np.uint64(32)
            self._ready = np.concatenate([self._ready, drawn])
        now, self._ready = self._ready[:count], self._ready[count:]
        return (now * np.uint64(size) >> np.uint64(32)).astype(np.int64).tolist()

    def order(self, count: int) -> np.ndarray:
        """Put so many things into an order, all equally likely: how a buffer is emptied.

        Drawn at once, as picking them one by one would give nothing else, and slowly.  Sorted by
        48 random bits, 16 at a time: NumPy sorts those by counting, and the same in any version.
        """
        drawn = np.random.PCG64(np.random.SeedSequence([*self._words, 1])).random_raw(count)
        order = np.arange(count)
        for shift in (16, 32, 48):
            part = (drawn[order] >> np.uint64(shift)).astype(np.uint16)
            order = order[np.argsort(part, kind="stable")]
        return order

    def pick_one(self, size: int) -> int:
        """Choose once."""
        if not self._listed:
            self._listed = (self._bits.random_raw(_BLOCK) >> np.uint64(32)).tolist()[::-1]
        return self._listed.pop() * size >> 32
