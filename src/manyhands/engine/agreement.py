"""What all processes must have in common before they compute together.

In: a Layout that spans processes.  Out: the same state everywhere (process 0's, where they
differ), and an error with the difference where shapes, programs or rows do not match: before the
first step, since a collective that not everybody enters waits for ever.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from manyhands.cluster import Group
from manyhands.data.random_state import random_state, set_random_state
from manyhands.engine.batch import leaves
from manyhands.engine.everybodys_rows import everybodys_rows, one_each, shares
from manyhands.engine.layout import ROWS, Layout
from manyhands.engine.placing import is_shared, local_view
from manyhands.errors import ClusterError, explain, warn


def agreement_on(layout: Layout | None) -> Agreement | None:
    """Give the agreement of the processes that a layout spans; None for one process."""
    if layout is None or not layout.spans_processes:
        return None
    assert layout.group is not None, "a layout spans processes only after they have joined"
    return Agreement(layout.group, layout)


@dataclass(frozen=True, slots=True)
class Uneven:
    """This process' rows of a batch that does not divide, and how many each process has."""

    rows: Any
    counts: list[int]


class Agreement:
    """Asks the other processes before something that all must do alike."""

    def __init__(self, group: Group, layout: Layout) -> None:
        self.group = group
        self._layout = layout

    def same(self, what: str, mine: Any, *, channel: str = "main") -> None:
        """Refuse to go on where the processes differ in what they are about to do."""
        answers = self.group.agree(what, mine, channel=channel)
        odd = next((i for i, answer in enumerate(answers) if answer != answers[0]), None)
        if odd is not None:
            raise self._unlike(what, answers, odd)

    def waiting(self, doing: str) -> AbstractContextManager[None]:
        """Note that what happens inside waits for the others."""
        return self.group.waiting(doing)

    def alike(self, sample: int, *, channel: str) -> None:
        """Warn where the processes make different batches, of which each uses its share.

        No error: what is drawn for each row anew (augmentation) may well differ.
        """
        samples = self.group.agree("the first batch", sample, channel=channel)
        odd = next((i for i, other in enumerate(samples) if other != samples[0]), None)
        if odd is not None and self.group.index == 0:
            warn(
                f"{self.group.membership.members[odd]} makes other batches than "
                f"{self.group.membership.me}, so a step takes rows of both, and some rows may be "
                "missed. Make the data alike everywhere: seed what shuffles it before it is made "
                "(keras.utils.set_random_seed). Where only augmentation differs, all is well."
            )

    def everybody(self, what: str, mine: bool) -> bool:
        """Whether it is so in every process."""
        return all(self.group.agree(what, mine))

    def arrays_of_first(self, arrays: list[np.ndarray] | None) -> list[np.ndarray]:
        """Give process 0's arrays to all; the others pass None."""
        own = arrays if self.group.index == 0 and arrays is not None else []
        told = self.group.agree("arrays", [[list(a.shape), str(a.dtype)] for a in own])[0]
        bits = [np.frombuffer(array.tobytes(), np.uint8) for array in own]
        if self.group.index:
            sizes = [int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in told]
            bits = [np.zeros(size, np.uint8) for size in sizes]
        return [
            np.asarray(part).view(np.dtype(dtype)).reshape(shape).copy()
            for part, (shape, dtype) in zip(self._from_first(bits), told, strict=True)
        ]

    def state(self, names: Sequence[str], values: list[Any]) -> list[Any]:
        """Give state that is the same on every process: process 0's, where they differ.

        What came out of a common step is the same already and is not looked at.
        """
        shapes = [
            [name, list(np.shape(value)), str(value.dtype)]
            for name, value in zip(names, values, strict=True)
        ]
        unsure = [i for i, value in enumerate(values) if not is_shared(value)]
        answers = self.group.agree("the variables", {"shapes": shapes, "unsure": unsure})
        told = [answer["shapes"] for answer in answers]
        odd = next((i for i, answer in enumerate(told) if answer != told[0]), None)
        if odd is not None:
            raise self._unlike("the variables", told, odd)
        doubted = sorted({i for answer in answers for i in answer["unsure"]})
        if not doubted:
            return values
        digests = self.group.agree("their values", [_digest(values[i]) for i in doubted])
        differing = [
            i for place, i in enumerate(doubted) if len({given[place] for given in digests}) > 1
        ]
        values = list(values)
        for i, value in zip(
            differing, self._from_first([values[i] for i in differing]), strict=True
        ):
            values[i] = value
        return values

    def order(self, *, channel: str = "main") -> None:
        """Let every process draw the same random numbers: as process 0 will."""
        state = random_state()
        digest = hashlib.blake2b(repr(state).encode(), digest_size=16).hexdigest()
        digests = self.group.agree("the order of rows", digest, channel=channel)
        if len(set(digests)) > 1:
            told = state if self.group.index == 0 else None
            set_random_state(self.group.agree("random numbers", told, channel=channel)[0])

    def passes(self, source: Any, *, channel: str = "main") -> None:
        """Let every process read the same pass over a dataset: the one that process 0 reads."""
        if hasattr(source, "get_state"):
            own = source.get_state()
            first = self.group.agree("the pass over the data", own, channel=channel)[0]
            if first != own:
                source.set_state(first)

    def rows(
        self, batch: Any, total: int | None, *, ended: bool = False, channel: str
    ) -> tuple[Any, int | None] | None:
        """Put each process' own rows of the next step together.

        In: this process' rows (none of them when its data has `ended`), and the number of rows of
        the whole batch where that is known.  Out: our rows and the number of all; where they do
        not divide as the devices need them, Uneven ones for `even`; nothing when all have ended.
        """
        count, shapes = 0, None
        if batch is not None:
            count = len(leaves(batch)[0])
            shapes = [[list(part.shape[1:]), str(part.dtype)] for part in leaves(batch)]
        mine = [count, total, shapes, ended]
        answers = self.group.agree("the next batch", mine, channel=channel)
        if all(answer[3] for answer in answers):
            return None
        known = [i for i, answer in enumerate(answers) if answer[2] is not None]
        for odd in known:
            if answers[odd][2] != answers[known[0]][2]:
                both = [answers[known[0]][2], answers[odd][2]]
                raise self._unlike("the next batch", both, 1, (known[0], odd))
        counts = [answer[0] for answer in answers]
        num_rows = sum(counts)
        if all(answer[1] == num_rows for answer in answers):
            return batch, num_rows
        if batch is None:
            raise ClusterError(
                explain(
                    "A process has no data at all, while others have.",
                    got=f"{self.group.membership.me} has read nothing",
                    fix="give every process something to read: more files, or "
                    "AutoShardPolicy.DATA.",
                )
            )
        if counts == shares(self._layout, num_rows):
            return batch, num_rows
        return Uneven(batch, counts), None

    def even(self, batch: Any) -> Any:
        """Bring rows that do not divide to every process, which then has the whole batch.

        A common computation, so only on the thread that launches steps: in their order.
        """
        if not isinstance(batch, Uneven):
            return batch
        return everybodys_rows(self._layout, batch.rows, batch.counts)

    def program(self, name: str, jaxpr: Any, arguments: Any) -> None:
        """Refuse a program that is another one elsewhere."""
        shapes = [f"{part.dtype}{list(part.shape)}" for part in jax.tree.leaves(arguments)]
        self.same(name, {"arguments": shapes, "operations": _operations(jaxpr)})

    def _from_first(self, parts: list[Any]) -> list[Any]:
        if not parts:
            return []
        layout = self._layout
        apart = NamedSharding(layout.mesh, PartitionSpec(ROWS))
        stacked = [one_each(part, layout, apart) for part in parts]
        take_first = jax.jit(
            lambda given: [part[0] for part in given], out_shardings=layout.replicated
        )
        return [local_view(part, layout) for part in take_first(stacked)]

    def _unlike(
        self, what: str, answers: list[Any], odd: int, who: tuple[int, int] | None = None
    ) -> ClusterError:
        named = who or (0, odd)
        members = [self.group.membership.members[index] for index in named]
        mine, theirs = _difference(answers[0], answers[odd])
        return ClusterError(
            explain(
                f"The processes are not doing the same: they differ in {what}.",
                got=f"{members[0]}: {mine}; {members[1]}: {theirs}",
                fix="run the same program on the same data, with the same batch size, on every "
                "process; manyhands gives each its share of the rows.",
            )
        )


def _digest(value: Any) -> str:
    array = np.asarray(jax.random.key_data(value) if _is_key(value) else value)
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)


def _operations(jaxpr: Any) -> dict[str, int]:
    counted: Counter[str] = Counter()

    def count(inner: Any) -> None:
        for equation in inner.eqns:
            counted[equation.primitive.name] += 1
            for part in jax.tree.leaves(list(equation.params.values()), is_leaf=_has_equations):
                if _has_equations(part):
                    count(getattr(part, "jaxpr", part))

    count(getattr(jaxpr, "jaxpr", jaxpr))
    return dict(sorted(counted.items()))


def _has_equations(part: Any) -> bool:
    return hasattr(part, "eqns") or hasattr(getattr(part, "jaxpr", None), "eqns")


def _difference(one: Any, other: Any) -> tuple[str, str]:
    """Show the first thing in which two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *other]:
            if one.get(name) != other.get(name):
                mine, theirs = _difference(one.get(name), other.get(name))
                return f"{name} {mine}", f"{name} {theirs}"
    if isinstance(one, list) and isinstance(other, list):
        for i in range(max(len(one), len(other))):
            mine, theirs = one[i : i + 1], other[i : i + 1]
            if mine != theirs:
                return (
                    f"{mine[0] if mine else 'nothing'} (number {i} of {len(one)})",
                    f"{theirs[0] if theirs else 'nothing'} (number {i} of {len(other)})",
                )
    return str(one), str(other)
