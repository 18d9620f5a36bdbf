"""From files to values, or a word on what is wrong with the files.

In: the path of a checkpoint.  Out: its manifest, its arrays; an error that offers the newest other
checkpoint that is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from manyhands.checkpoint.array_store import read_arrays
from manyhands.checkpoint.background import background
from manyhands.checkpoint.disk import local
from manyhands.checkpoint.errors import CheckpointDamagedError, CheckpointNotFoundError
from manyhands.checkpoint.manifest import ARRAYS, Damage, Manifest, read_manifest, verify
from manyhands.errors import explain


def open_checkpoint(path: str | os.PathLike[str]) -> Manifest:
    """Read what a checkpoint holds, and prove that every file is as it was written."""
    place = local(path)
    background.wait(place.parent)
    if not place.is_dir():
        raise _not_found(place)
    try:
        manifest = read_manifest(place)
        verify(place, manifest)
    except Damage as damage:
        if (place / "checkpoint").is_file():
            raise _not_found(place) from None
        raise _damaged(place, damage) from None
    return manifest


def load_arrays(
    path: str | os.PathLike[str], manifest: Manifest, keys: Iterable[str]
) -> dict[str, np.ndarray]:
    """Read arrays of a checkpoint that has been opened."""
    specs = manifest.stored()
    wanted = {key: specs[key] for key in keys}
    try:
        arrays = read_arrays(Path(path).absolute() / ARRAYS, wanted)
    except (OSError, ValueError, KeyError) as error:
        raise _damaged(Path(path), Damage(f"the arrays cannot be read: {error}")) from error
    for key, spec in wanted.items():
        if arrays[key].shape != spec.shape:
            raise _damaged(Path(path), Damage(f"{key} has shape {arrays[key].shape}"))
    return arrays


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a complete checkpoint at this path."""
    background.wait(Path(checkpoint_prefix).parent)
    return _is_whole(Path(checkpoint_prefix), thoroughly=False)


def _not_found(path: Path) -> CheckpointNotFoundError:
    if path.with_name(path.name + ".index").exists():
        got, fix = (
            f"{path}.index, which TensorFlow wrote",
            "load it with TensorFlow, save the model's weights with "
            "model.save_weights('x.weights.h5'), and load those here.",
        )
    elif (path / "checkpoint").is_file():
        got = f"{path}, a directory of checkpoints"
        fix = f"restore(latest_checkpoint({str(path)!r}))."
    else:
        other = newest_whole(path.parent, but=path)
        got = str(path)
        fix = f"restore({other!r})." if other else "save one first, or correct the path."
    return CheckpointNotFoundError(explain("There is no checkpoint here.", got=got, fix=fix))


def _damaged(path: Path, damage: Damage) -> CheckpointDamagedError:
    other = newest_whole(path.parent, but=path)
    return CheckpointDamagedError(
        explain(
            "A checkpoint is damaged: it is not as it was written.",
            got=f"{path}: {damage}",
            fix=f"go back to the one before: restore({other!r})."
            if other
            else "there is no other checkpoint next to it that is whole; start anew.",
        )
    )


def newest_whole(directory: Path, *, but: Path | None = None) -> str | None:
    """Find the newest checkpoint in a directory whose files are all as they were written."""
    dated = []
    for other in directory.glob("*/manifest.json"):
        if other.parent != but and not other.parent.name.startswith("."):
            dated.append((other.stat().st_mtime_ns, other.parent))
    whole = (str(other) for _, other in sorted(dated, reverse=True) if _is_whole(other))
    return next(whole, None)


def _is_whole(path: Path, *, thoroughly: bool = True) -> bool:
    try:
        manifest = read_manifest(path)
        if thoroughly:
            verify(path, manifest)
    except (Damage, OSError):
        return False
    return True
