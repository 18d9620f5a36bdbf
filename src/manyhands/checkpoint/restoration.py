"""From a saved graph to the objects of a program, now and as they come to be.

In: a Manifest, its arrays, the object to restore.  Out: values in variables, states set.
Saved nodes and objects are paired by the names on the way from the root.  First everything is
paired and checked, then assigned: nothing is half restored.  What is not there yet (a layer not
built, an optimizer before its first step) waits: each object that misses parts is remembered,
weakly, and looked at again before the first look at any new variable.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands import keras_bridge
from manyhands.checkpoint.errors import CheckpointMismatchError
from manyhands.checkpoint.graph import children, kind_of, walk
from manyhands.checkpoint.manifest import ArraySpec, Manifest, Node
from manyhands.checkpoint.saving import refuse_given_away
from manyhands.checkpoint.state_json import decode
from manyhands.errors import explain
from manyhands.keras_bridge.creation import (
    form_of,
    put,
    sync_model,
    watch_new_variables,
)

logger = logging.getLogger(__name__)

_waiting: list[Restoration] = []
_lock = threading.RLock()


def settle() -> None:
    """Give the values that wait to the objects that have come to be."""
    with _lock:
        for restoration in list(_waiting):
            restoration.settle()


@dataclass
class Leftover:
    """The saved values that no object has taken; said once, when that cannot change any more."""

    path: str
    keys: set[str]

    def report(self) -> None:
        """Tell whoever restored it."""
        if self.keys:
            logger.warning(
                "Values of the checkpoint %s were never used: %s. If that is as it should be, "
                "call restore(...).expect_partial().",
                self.path,
                some(sorted(self.keys)),
            )


def some(keys: list[str]) -> str:
    """Name the first few of a list."""
    more = f" and {len(keys) - 6} more" if len(keys) > 6 else ""
    return ", ".join(keys[:6]) + more


class Restoration:
    """One checkpoint on its way into the objects of a program."""

    def __init__(self, path: str, manifest: Manifest, arrays: dict[str, np.ndarray]) -> None:
        self.path = path
        self._nodes = manifest.nodes
        self._arrays = arrays
        self._taken: dict[int, Callable[[], Any]] = {}
        self._open: list[tuple[Callable[[], Any], int]] = []
        self._leftover = Leftover(path, {n.key for n in manifest.nodes if _counts(n)})
        weakref.finalize(self, self._leftover.report)

    def begin(self, *roots: Any) -> None:
        """Restore all that is there; `roots` are the objects that stand for the checkpoint."""
        with _lock:
            self._taken[0] = _reference(roots[0], None)
            self._open = [(self._watched(root), 0) for root in roots]
            for thing in (*roots, *(node.thing for node in walk(*roots))):
                sync_model(thing)  # or `fit` would go on with the values that it carries
            try:
                self.settle()
            except Exception:
                self.expect_partial()  # the error says enough
                raise
            given = self.restored()
            for older in list(_waiting):
                older.give_way(given)
            if self._open:
                _waiting.insert(0, self)  # the newest is asked first
            _listen()

    def settle(self) -> None:
        """Pair what has come to be, check all of it, then assign."""
        with _lock:
            before = dict(self._taken), self._open
            pairs = self._pair()
            problems = [p for node, thing, _ in pairs if (p := self._problem(node, thing))]
            if problems:
                self._taken, self._open = before  # so that each look says it again
                raise _mismatch(self.path, problems)
            pairs.sort(key=lambda pair: pair[0].array is not None)  # a state may refuse: first
            for node, thing, _ in pairs:
                self._assign(node, thing)
                self._leftover.keys.discard(node.key)
            for holder in {id(holder): holder for _, _, holder in pairs}.values():
                if callable(getattr(holder, "finalize_state", None)):
                    holder.finalize_state()  # Keras' Normalization keeps what it derives
            if not self._open:
                self._leave()

    def missing(self) -> list[str]:
        """Name the saved values that no object has taken."""
        return [n.key for i, n in enumerate(self._nodes) if _counts(n) and i not in self._taken]

    def restored(self) -> set[int]:
        """Give the ids of the objects whose values came from this checkpoint."""
        return {id(thing) for thing in self._things()}

    def num_restored(self) -> int:
        """Count the values that objects have taken."""
        return sum(_counts(self._nodes[number]) for number in self._taken)

    def give_way(self, given: set[int]) -> None:
        """Leave objects to a later restoration."""
        self._open = [(thing, node) for thing, node in self._open if id(thing()) not in given]
        if not self._open:
            self.expect_partial()  # the later one has the last word
            self._leave()

    def expect_partial(self) -> None:
        """Say nothing of values that nobody takes."""
        self._leftover.keys.clear()

    # pairing

    def _pair(self) -> list[tuple[Node, Any, Any]]:
        """Follow the saved names into the objects; give new leaves with who holds them."""
        pairs, queue, still_open = [], list(self._open), []
        while queue:
            reference, number = queue.pop(0)
            holder = reference()
            if holder is None:
                continue
            parts = children(holder)
            for name, child in self._nodes[number].children.items():
                if child in self._taken or name not in parts:
                    continue
                node, thing = self._nodes[child], parts[name]
                if not _are_alike(node, thing):
                    continue
                self._taken[child] = _reference(thing, None)
                if node.is_leaf:
                    pairs.append((node, thing, holder))
                else:
                    queue.append((self._watched(thing), child))
            if any(child not in self._taken for child in self._nodes[number].children.values()):
                still_open.append((reference, number))
        self._open = still_open
        return pairs

    def _problem(self, node: Node, thing: Any) -> str | None:
        if node.array is None:
            return None
        refuse_given_away(node.key, thing)
        wanted = ArraySpec(*form_of(thing))
        return None if wanted == node.array else f"{node.key}: saved {node.array}, here {wanted}"

    def _assign(self, node: Node, thing: Any) -> None:
        if node.array is not None:
            put(thing, self._arrays.pop(node.key))
        elif isinstance(thing, np.random.Generator):
            thing.bit_generator.state = decode(node.state, self._arrays)
        else:
            thing.set_state(decode(node.state, self._arrays))

    # liveness

    def _things(self) -> list[Any]:
        return [thing for ref in self._taken.values() if (thing := ref()) is not None]

    def _watched(self, thing: Any) -> Callable[[], Any]:
        return _reference(thing, self._drop_dead)

    def _drop_dead(self, _: Any) -> None:
        self._open = [entry for entry in self._open if entry[0]() is not None]
        if not self._open:
            self._leave()

    def _leave(self) -> None:
        self._arrays.clear()
        if self in _waiting:
            _waiting.remove(self)
        _listen()


def _listen() -> None:
    keras_bridge.install()
    watch_new_variables(settle if _waiting else None)


def _reference(thing: Any, on_death: Callable[[Any], None] | None) -> Callable[[], Any]:
    try:
        return weakref.ref(thing, on_death)
    except TypeError:
        return lambda: thing


def _counts(node: Node) -> bool:
    """Whether somebody will miss this value; a checkpoint's own counter is made when needed."""
    return node.is_leaf and node.key.rpartition("/")[2] != "save_counter"


def _are_alike(node: Node, thing: Any) -> bool:
    kind = kind_of(thing)
    if node.array is not None:
        return kind == "variable"
    return kind == ("state" if node.has_state else "object")


def _mismatch(path: str, problems: list[str]) -> CheckpointMismatchError:
    more = f" and {len(problems) - 4} more" if len(problems) > 4 else ""
    return CheckpointMismatchError(
        explain(
            f"Values of the checkpoint {path} do not fit; nothing was restored.",
            got="; ".join(problems[:4]) + more,
            fix="make the model as it was when it was saved, or leave the object out of the "
            "Checkpoint.",
        )
    )
