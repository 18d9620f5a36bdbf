"""Which checkpoint of a directory to go on from: the newest that is whole.

In: a directory.  Out: its checkpoints in the order in which to try them; the first that is whole.
Whatever is passed by is said, with the reason.  Nothing is changed or removed.
"""

from __future__ import annotations

import os
from pathlib import Path

from manyhands.checkpoint.disk import local
from manyhands.checkpoint.index import get_checkpoint_state
from manyhands.checkpoint.loading import by_age
from manyhands.checkpoint.manifest import OtherVersion
from manyhands.checkpoint.proof import damage_of
from manyhands.errors import warn

PathLike = str | os.PathLike[str]


def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """Return the path of the latest checkpoint in a directory that is whole, None if there is none.

    Where all are damaged it is the latest of those, so that restoring it says what is wrong.
    """
    return first_whole(candidates(checkpoint_dir, latest_filename))


def first_whole(paths: list[str]) -> str | None:
    """Return the first path whose checkpoint is whole; else the first that is there at all."""
    damaged: dict[str, str] = {}
    for path in paths:
        if not os.path.isdir(path):
            continue
        try:
            damage = damage_of(Path(path))
        except OtherVersion:
            damage = None  # it is whole; whoever restores it hears of it
        if damage is None:
            say_passed_by(damaged, path)
            return path
        damaged[path] = str(damage)
    return next(iter(damaged), None)


def candidates(
    directory: PathLike, latest_filename: str | None = None, *, prefix: str | None = None
) -> list[str]:
    """List the checkpoints of a directory, the one to try first at the front.

    Its index says which; where that cannot be read, the checkpoints say so themselves.  Where it
    is not there, those count whose names are a prefix and a number.
    """
    given = os.fspath(directory)
    state = get_checkpoint_state(given, latest_filename)
    if state is not None:
        listed = [state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]
        return list(dict.fromkeys(listed))
    index = local(given) / (latest_filename or "checkpoint")
    found = [os.path.join(given, path.name) for path in by_age(local(given))]
    if index.exists():
        warn(f"{index} cannot be read; the checkpoints next to it are taken by their age.")
        return found
    return [path for path in found if prefix is not None and _is_numbered(path, prefix)]


def say_passed_by(damaged: dict[str, str], chosen: str) -> None:
    """Say which checkpoints were passed by, and why."""
    for path, damage in damaged.items():
        warn(
            f"The checkpoint {path} was passed by, for it is damaged: {damage}. "
            f"{chosen}, which is older, is taken instead. Look at the disk that damaged it."
        )


def _is_numbered(path: str, prefix: str) -> bool:
    name, _, number = os.path.basename(path).rpartition("-")
    return name == prefix and number.isdecimal()
