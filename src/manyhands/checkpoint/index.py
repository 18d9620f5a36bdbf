"""The file `checkpoint` of a directory: which checkpoints are there, and which is the latest.

In: a directory.  Out: a CheckpointState, in the text that TensorFlow writes.
The file is replaced as a whole, after the checkpoint it names is complete.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from manyhands.checkpoint.background import background
from manyhands.checkpoint.disk import local, replace_text

_LINE = re.compile(r'^\s*(\w+):\s*("(?:[^"\\]|\\.)*"|\S+)\s*$')


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointState:
    """The checkpoints of a directory, oldest first."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: tuple[str, ...] = ()
    all_model_checkpoint_timestamps: tuple[float, ...] = ()
    last_preserved_timestamp: float = 0.0

    def timestamps(self) -> dict[str, float]:
        """Give the time each checkpoint was saved at, 0 where it is not known."""
        times = dict.fromkeys(self.all_model_checkpoint_paths, 0.0)
        times.update(zip(times, self.all_model_checkpoint_timestamps, strict=False))
        return times


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Read what a directory says of its checkpoints, None if it says nothing."""
    directory = os.fspath(checkpoint_dir)
    background.wait(local(directory))
    try:
        text = Path(directory, latest_filename or "checkpoint").read_text()
        return _parsed(text, directory)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return None


def _parsed(text: str, directory: str) -> CheckpointState | None:
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            said.setdefault(match[1], []).append(match[2])
    if "model_checkpoint_path" not in said:
        return None

    def path(quoted: str) -> str:
        return os.path.join(directory, json.loads(quoted))

    return CheckpointState(
        model_checkpoint_path=path(said["model_checkpoint_path"][-1]),
        all_model_checkpoint_paths=tuple(map(path, said.get("all_model_checkpoint_paths", ()))),
        all_model_checkpoint_timestamps=tuple(
            map(float, said.get("all_model_checkpoint_timestamps", ()))
        ),
        last_preserved_timestamp=float(said.get("last_preserved_timestamp", ["0"])[-1]),
    )


def write_state(directory: Path, state: CheckpointState) -> None:
    """Replace what a directory says of its checkpoints."""

    def quoted(path: str) -> str:
        return json.dumps(os.path.relpath(path, directory), ensure_ascii=False)

    lines = [f"model_checkpoint_path: {quoted(state.model_checkpoint_path)}"]
    lines += [f"all_model_checkpoint_paths: {quoted(p)}" for p in state.all_model_checkpoint_paths]
    lines += [
        f"all_model_checkpoint_timestamps: {t!r}" for t in state.all_model_checkpoint_timestamps
    ]
    lines.append(f"last_preserved_timestamp: {state.last_preserved_timestamp!r}")
    replace_text(directory / "checkpoint", "\n".join(lines) + "\n")


def add_latest(path: Path) -> None:
    """Make a complete checkpoint the latest of its directory, and go on listing the others."""
    state = get_checkpoint_state(path.parent)
    known = {} if state is None else state.timestamps()
    known = {p: t for p, t in known.items() if Path(p) != path and os.path.isdir(p)}
    known[str(path)] = time.time()
    write_state(
        path.parent,
        CheckpointState(
            model_checkpoint_path=str(path),
            all_model_checkpoint_paths=tuple(known),
            all_model_checkpoint_timestamps=tuple(known.values()),
            last_preserved_timestamp=state.last_preserved_timestamp if state else 0.0,
        ),
    )
