"""Keras' files, where several processes save the same model to the same place.

In: a model's `save` and `save_weights`, and the callbacks that write, in a group of processes.
Out: whole files, however many processes write them at once: each writes beside the place and moves
its file there.  A backup, which is several files, and logs, which grow, are one process' to write.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import keras

from manyhands.cluster import Group, joined


def install_saving() -> None:
    """Teach Keras, once a process."""
    if getattr(keras.Model, "_manyhands_saves", False):
        return
    setattr(keras.Model, "_manyhands_saves", True)  # noqa: B010
    for method in ("save", "save_weights"):
        _wrap_save(method)
    callbacks = keras.callbacks
    _one_writes(callbacks.BackupAndRestore, "backup_dir", ("_save_model", "on_train_end"))
    _one_writes(callbacks.CSVLogger, "filename", ("on_train_begin", "on_epoch_end", "on_train_end"))
    board = [name for name in vars(callbacks.TensorBoard) if name.startswith("on_")]
    _one_writes(callbacks.TensorBoard, "log_dir", ("set_model", *board))


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


def _one_writes(kind: type, attribute: str, methods: Sequence[str]) -> None:
    """Let these methods of a callback act in the process that writes to its place, no other."""

    def wrapped(original: Any) -> Any:
        @functools.wraps(original)
        def act(self: Any, *args: Any, **kwargs: Any) -> Any:
            group = joined()
            if group is None or _is_writer(group, self, Path(getattr(self, attribute))):
                return original(self, *args, **kwargs)
            return None

        return act

    for method in methods:
        setattr(kind, method, wrapped(getattr(kind, method)))


def _is_writer(group: Group, callback: Any, place: Path) -> bool:
    if callback not in _writers:
        _writers[callback] = group.writes(place)
    return _writers[callback]


_writers: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
