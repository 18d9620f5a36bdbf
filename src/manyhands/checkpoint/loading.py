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
from manyhands.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointNotFoundError,
)
from manyhands.checkpoint.manifest import ARRAYS, Damage, Manifest, OtherVersion
from manyhands.checkpoint.proof import damage_of, glance, prove
from manyhands.errors import explain


def open_checkpoint(path: str | os.PathLike[str]) -> Manifest:
    """Read what a checkpoint holds, and prove that every file is as it was written."""
    place = local(path)
    background.wait(place.parent)
    if not place.is_dir():
        raise _not_found(place)
    try:
        return prove(place)
    except Damage as damage:
        if (place / "checkpoint").is_file():
            raise _not_found(place) from None
        raise _damaged(place, damage) from None
    except OtherVersion as other:
        raise CheckpointError(
            explain(
                "A checkpoint was written by a later manyhands than this one.",
                got=f"{place}: {other}",
                fix="install the version that wrote it, or a later one.",
            )
        ) from None


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
    return is_whole(Path(checkpoint_prefix))


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
    error = CheckpointDamagedError(
        explain(
            "A checkpoint is damaged: it is not as it was written.",
            got=f"{path}: {damage}",
            fix=f"go back to the one before: restore({other!r})."
            if other
            else "there is no other checkpoint next to it that is whole: bring it back from a "
            "copy, or give another directory to start anew.",
        )
    )
    error.damage = str(damage)
    return error


def newest_whole(directory: Path, *, but: Path | None = None) -> str | None:
    """Find the newest checkpoint in a directory whose files are all as they were written."""
    others = (other for other in by_age(directory) if other != but)
    return next((str(other) for other in others if is_whole(other)), None)


def by_age(directory: Path) -> list[Path]:
    """List the checkpoints of a directory that say when they were saved, the newest first."""
    dated = []
    for found in directory.glob("*/manifest.json"):
        if not found.parent.name.startswith("."):
            try:
                dated.append((glance(found.parent).saved_at, found.parent))
            except (Damage, OtherVersion, OSError):
                dated.append((0.0, found.parent))
    return [path for _, path in sorted(dated, reverse=True)]


def is_whole(path: Path) -> bool:
    """Whether every file of a checkpoint is as it was written."""
    try:
        return damage_of(path) is None
    except (OtherVersion, OSError):
        return False
