"""Which of TensorFlow's names a program uses, found without running it.

In: the text of a program, or the pieces of one.  Out: each name with its line, and whether it is
here, changes, or is missing.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from manyhands.tf.missing import instead_of, needs_tensorflow
from manyhands.tf.program_text import Piece

Status = Literal["supported", "translated", "missing"]

_CHANGES = {
    "tf.function": "compiled by XLA; one that needs values while it is traced runs eagerly",
    "tf.py_function": "a step that calls it runs eagerly",
    "tf.numpy_function": "a step that calls it runs eagerly",
    "tf.boolean_mask": "a step that calls it runs eagerly: its result has any number of rows",
    "tf.unique": "a step that calls it runs eagerly: its result has any number of values",
    "tf.int64": "32 bits, unless JAX_ENABLE_X64=1",
    "tf.uint64": "32 bits, unless JAX_ENABLE_X64=1",
    "tf.float64": "32 bits, unless JAX_ENABLE_X64=1",
    "tf.device": "for new values; a device that is not there is replaced by one that is",
    "tf.name_scope": "accepted; names are not needed",
    "tf.control_dependencies": "accepted; everything runs in the order it is written",
    "tf.train.Checkpoint": "own files; TensorFlow's own checkpoints cannot be read",
    "tf.train.CheckpointManager": "own files; TensorFlow's own checkpoints cannot be read",
    "tf.io.VarLenFeature": "gives the values, not a SparseTensor",
    "tf.io.serialize_tensor": "own bytes; TensorFlow's cannot be read",
    "tf.config.set_logical_device_configuration": (
        "virtual CPU devices; a GPU's memory_limit holds for every GPU of the process"
    ),
    "tf.config.experimental.set_virtual_device_configuration": (
        "virtual CPU devices; a GPU's memory_limit holds for every GPU of the process"
    ),
    "tf.config.experimental.set_memory_growth": "holds for every GPU of the process",
    "tf.config.threading": "accepted; XLA chooses",
    "tf.config.optimizer": "accepted; XLA chooses",
    "tf.config.experimental.enable_op_determinism": "must come before the first tensor",
    "tf.distribute.NcclAllReduce": "accepted; XLA chooses how devices exchange values",
    "tf.distribute.HierarchicalCopyAllReduce": "accepted; XLA chooses",
    "tf.distribute.ReductionToOneDevice": "accepted; XLA chooses",
    "tf.debugging": "checked where values are known; not inside a compiled step",
    "tf.compat.v1": "only what the second version has, too",
    "tf.summary.trace_on": "profiles with JAX's profiler",
    "tf.profiler": "profiles with JAX's profiler",
    "tf.strings": "in Python: a step that calls it on tensors of numbers runs eagerly",
    "tf.dynamic_partition": "a step that calls it runs eagerly: parts have any number of rows",
}


@dataclass(frozen=True, slots=True)
class Use:
    """One use of one name."""

    line: int
    name: str
    status: Status
    note: str
    cell: int | None = None
    """Which cell of a notebook."""


def names_used(text: str, filename: str = "<program>") -> list[Use]:
    """List the uses of TensorFlow's names in a program, by line."""
    return names_used_in([Piece(ast.parse(text, filename))])


def names_used_in(pieces: Iterable[Piece]) -> list[Use]:
    """List the uses in pieces that follow each other, by piece and line."""
    finder, uses = _Finder(), []
    for piece in pieces:
        finder.found = []
        finder.look_through(piece.tree)
        uses += [
            Use(line, name, *status_of(name), piece.cell)
            for line, name in sorted(set(finder.found))
        ]
    return uses


def status_of(name: str) -> tuple[Status, str]:
    """Say whether a name is here, and what changes or what to use instead."""
    try:
        found = _resolved(name)
    except (AttributeError, ImportError):
        return "missing", f"use {instead_of(name)}"
    if needs_tensorflow(name):
        return "missing", f"use {instead_of(name)}"
    instead = getattr(found, "instead", None)
    if isinstance(instead, str):
        return "missing", instead
    for known, note in _CHANGES.items():
        if name == known or name.startswith(known + "."):
            return "translated", note
    return "supported", ""


def _resolved(name: str) -> Any:
    found: Any = importlib.import_module("manyhands.tf")
    for part in name.split(".")[1:]:
        found = getattr(found, part)
        if not _is_dataset(found) and (isinstance(found, type) or callable(found)):
            break  # what follows belongs to the object, not to TensorFlow's names
    return found


def _is_dataset(found: Any) -> bool:
    """Whether it is a class that is used by its names: `tf.data.Dataset.range`."""
    return isinstance(found, type) and hasattr(found, "element_spec")


class _Finder:
    """Follows the names that a program gives to TensorFlow and its parts."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self._known: dict[str, str] = {}

    def look_through(self, tree: ast.AST) -> None:
        """Look at everything in the order it is written; trees may be deeper than Python calls."""
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Assign):
                self._assign(node)
            if not isinstance(node, ast.Attribute) or not self._attribute(node):
                waiting += reversed(list(ast.iter_child_nodes(node)))

    def _import(self, node: ast.Import) -> None:
        """`import tensorflow.keras as k`."""
        for alias in node.names:
            if alias.name.split(".")[0] != "tensorflow":
                continue
            full = _short(alias.name)
            self._known[alias.asname or "tensorflow"] = full if alias.asname else "tf"
            if full != "tf":
                self.found.append((node.lineno, full))

    def _import_from(self, node: ast.ImportFrom) -> None:
        """`from tensorflow.keras import layers`."""
        if node.level or (node.module or "").split(".")[0] != "tensorflow":
            return
        part = _short(node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.found.append((node.lineno, part))
                self._known.update((name, f"{part}.{name}") for name in _names_in(part))
                continue
            full = f"{part}.{alias.name}"
            self.found.append((node.lineno, full))
            self._known[alias.asname or alias.name] = full

    def _assign(self, node: ast.Assign) -> None:
        """`layers = tf.keras.layers`: another name for a part."""
        full = self._full(node.value)
        target = node.targets[0]
        if full is not None and isinstance(target, ast.Name) and len(node.targets) == 1:
            self._known[target.id] = full

    def _full(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._known:
            return None
        return ".".join([self._known[node.id], *reversed(parts)])

    def _attribute(self, node: ast.Attribute) -> bool:
        """`tf.nn.relu`: the whole of it, once."""
        full = self._full(node)
        if full is not None:
            self.found.append((node.lineno, full))
        return full is not None


def _names_in(part: str) -> list[str]:
    """List what `from … import *` brings, so far as it is here."""
    try:
        return [name for name in dir(_resolved(part)) if not name.startswith("_")]
    except (AttributeError, ImportError):
        return []


def _short(module: str) -> str:
    return ".".join(["tf", *module.split(".")[1:]])
