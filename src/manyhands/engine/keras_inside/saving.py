"""Keras' files, where several processes save the same model to the same place.

In: a model's `save` and `save_weights`, and BackupAndRestore, in a group of processes.  Out: whole
files, however many processes write them at once: each writes beside the place and moves its file
there.  A backup, which is several files, is one process' to write and to remove.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import keras

from manyhands.cluster import joined


def install_saving() -> None:
    """Teach Keras, once a process."""
    if getattr(keras.Model, "_manyhands_saves", False):
        return
    setattr(keras.Model, "_manyhands_saves", True)  # noqa: B010
    for method in ("save", "save_weights"):
        _wrap_save(method)
    for method in ("_save_model", "on_train_end"):
        _wrap_backup(method)


def _wrap_save(name: str) -> None:
    original = getattr(keras.Model, name)

    @functools.wraps(original)
    def save(self: Any, filepath: Any, overwrite: bool = True, *args: Any, **kwargs: Any) -> Any:
        group = joined()
        otherwise = args or kwargs.get("zipped") is False or not overwrite
        if group is None or otherwise or not _is_one_file(filepath):
            return original(self, filepath, overwrite, *args, **kwargs)
        place = Path(filepath)
        beside = place.with_name(f".process-{group.index}-{place.name}")
        try:
            original(self, beside, overwrite=True, **kwargs)
            os.replace(beside, place)
        finally:
            beside.unlink(missing_ok=True)
        return None

    setattr(keras.Model, name, save)


def _is_one_file(filepath: Any) -> bool:
    text = os.fspath(filepath) if isinstance(filepath, str | os.PathLike) else ""
    return "://" not in text and str(text).endswith((".keras", ".h5"))


def _wrap_backup(name: str) -> None:
    backup = keras.callbacks.BackupAndRestore
    original = getattr(backup, name)

    @functools.wraps(original)
    def act(self: Any, *args: Any, **kwargs: Any) -> None:
        group = joined()
        if group is None or group.writes(Path(self.backup_dir)):
            original(self, *args, **kwargs)

    setattr(backup, name, act)
