"""What a checkpoint says about itself: its graph, its states, and the checksum of every file.

In: the nodes of a saved graph and the files next to it.  Out: `manifest.json`, and back.
Reading it proves that it is whole; `verify` proves the same of the files.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
ARRAYS = "arrays"
_FORMAT = "manyhands checkpoint 2"
_READABLE = ("manyhands checkpoint 1", _FORMAT)
"""The first kept every state as JSON, however long."""


class Damage(Exception):  # noqa: N818  (a finding; the error is made where the path is known)
    """What is wrong with the files of a checkpoint, in a few words."""


class OtherVersion(Exception):  # noqa: N818  (likewise)
    """A whole checkpoint in a format that is not known here, in a few words."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """The shape and dtype of a saved array."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A saved object: its children by number, and its value if it is a leaf."""

    key: str
    children: dict[str, int] = field(default_factory=dict)
    array: ArraySpec | None = None
    state: Any = None
    has_state: bool = False
    aside: dict[str, ArraySpec] = field(default_factory=dict)
    """The large arrays of its state, which are stored beside those of variables."""

    @property
    def is_leaf(self) -> bool:
        """Whether it holds a value itself."""
        return self.array is not None or self.has_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A saved graph; node 0 is the checkpoint itself."""

    nodes: tuple[Node, ...]
    saved_at: float = 0.0
    files: dict[str, tuple[int, str]] = field(default_factory=dict)

    def arrays(self) -> dict[str, ArraySpec]:
        """Give the shape and dtype of each variable's array."""
        return {node.key: node.array for node in self.nodes if node.array is not None}

    def stored(self) -> dict[str, ArraySpec]:
        """Give the same of all arrays, those of states included."""
        aside = {key: spec for node in self.nodes for key, spec in node.aside.items()}
        return self.arrays() | aside


def write_manifest(directory: Path, nodes: tuple[Node, ...]) -> None:
    """Describe a directory whose other files are complete."""
    body = {
        "format": _FORMAT,
        "saved_at": time.time(),
        "nodes": [_node_to_json(node) for node in nodes],
        "files": {
            str(path.relative_to(directory)): [path.stat().st_size, _sha256(path)]
            for path in sorted(directory.rglob("*"))
            if path.is_file()
        },
    }
    text = json.dumps(body, indent=1)
    (directory / MANIFEST).write_text(f"{text}\n{_seal(text)}\n")


def _seal(text: str) -> str:
    return json.dumps({"sha256 of the lines above": hashlib.sha256(text.encode()).hexdigest()})


def read_manifest(directory: Path) -> Manifest:
    """Read a manifest; Damage if it is not as it was written or a file has another size.

    OtherVersion if it is whole and cannot be understood.
    """
    path = directory / MANIFEST
    if not path.is_file():
        raise Damage(f"{MANIFEST} is missing")
    text, _, seal = path.read_text(errors="replace").rstrip("\n").rpartition("\n")
    if seal != _seal(text):
        raise Damage(f"{MANIFEST} is not as it was written")
    body = json.loads(text)
    if body["format"] not in _READABLE:
        raise OtherVersion(f"its format is {body['format']!r}")
    files = {name: (size, digest) for name, (size, digest) in body["files"].items()}
    for name, (size, _) in files.items():
        _check_size(directory / name, name, size)
    nodes = tuple(_node_from_json(node) for node in body["nodes"])
    return Manifest(nodes=nodes, saved_at=body["saved_at"], files=files)


def verify(directory: Path, manifest: Manifest) -> None:
    """Compare every file with its checksum; Damage names the first that differs."""
    for name, (_, digest) in manifest.files.items():
        if _sha256(directory / name) != digest:
            raise Damage(f"{name} is not as it was written")


def _check_size(path: Path, name: str, size: int) -> None:
    if not path.is_file():
        raise Damage(f"{name} is missing")
    if path.stat().st_size != size:
        raise Damage(f"{name} has {path.stat().st_size} bytes, and {size} were written")


def _sha256(path: Path) -> str:
    """Sum a file up in one go: in pieces, this thread would ask the others for their turn often."""
    if not path.stat().st_size:
        return hashlib.sha256().hexdigest()
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        return hashlib.sha256(content).hexdigest()


def _node_to_json(node: Node) -> dict[str, Any]:
    body: dict[str, Any] = {"key": node.key}
    if node.children:
        body["children"] = node.children
    if node.array is not None:
        body |= _spec_to_json(node.array)
    if node.has_state:
        body["state"] = node.state
    if node.aside:
        body["aside"] = {key: _spec_to_json(spec) for key, spec in node.aside.items()}
    return body


def _node_from_json(body: dict[str, Any]) -> Node:
    spec = _spec_from_json(body) if "dtype" in body else None
    return Node(
        key=body["key"],
        children=body.get("children", {}),
        array=spec,
        state=body.get("state"),
        has_state="state" in body,
        aside={key: _spec_from_json(spec) for key, spec in body.get("aside", {}).items()},
    )


def _spec_to_json(spec: ArraySpec) -> dict[str, Any]:
    return {"shape": list(spec.shape), "dtype": spec.dtype}


def _spec_from_json(body: dict[str, Any]) -> ArraySpec:
    return ArraySpec(tuple(body["shape"]), body["dtype"])
