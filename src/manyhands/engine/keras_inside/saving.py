"""Keras' files, where several processes save the same model to the same place.

In: a model's `save` and `save_weights`, and the callbacks that write, in a group of processes.
Out: whole files, however many processes write them at once: each writes beside the place and moves
its file there.  A backup, which is several files, and logs, which grow, are one process' to write.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import keras

from manyhands.cluster import joined
from manyhands.engine.keras_inside.binding import driver_of


def install_saving() -> None:
    """Teach Keras, once a process."""
    if getattr(keras.Model, "_manyhands_saves", False):
        return
    setattr(keras.Model, "_manyhands_saves", True)  # noqa: B010
    for method in ("save", "save_weights"):
        _wrap_save(method)
    for method in ("_save_model", "on_train_end"):
        _wrap_backup(method)
    _wrap_csv_logger()
    _wrap_tensor_board()


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
    """Let one process write and remove the files of a backup."""
    backup = keras.callbacks.BackupAndRestore
    original = getattr(backup, name)

    @functools.wraps(original)
    def act(self: Any, *args: Any, **kwargs: Any) -> None:
        if _is_writer(self, self.model, self.backup_dir):
            original(self, *args, **kwargs)

    setattr(backup, name, act)


def _wrap_csv_logger() -> None:
    """Let the others' lines go nowhere."""
    logger = keras.callbacks.CSVLogger
    original = logger.on_train_begin

    @functools.wraps(original)
    def begin(self: Any, logs: Any = None) -> None:
        place = self.filename
        if not _is_writer(self, self.model, place):
            self.filename = os.devnull
        try:
            original(self, logs)
        finally:
            self.filename = place

    logger.on_train_begin = begin


def _wrap_tensor_board() -> None:
    """Let the others write to a folder that is removed when their program ends."""
    board = keras.callbacks.TensorBoard
    original = board.set_model

    @functools.wraps(original)
    def set_model(self: Any, model: Any) -> None:
        place = self.log_dir
        if not _is_writer(self, model, place):
            self.log_dir = tempfile.mkdtemp(prefix="manyhands-logs-")
            atexit.register(shutil.rmtree, self.log_dir, ignore_errors=True)
        try:
            original(self, model)
        finally:
            self.log_dir = place

    board.set_model = set_model


def _is_writer(callback: Any, model: Any, place: str | os.PathLike[str]) -> bool:
    """Whether this process writes what a callback would write in every process of a group."""
    group, driver = joined(), driver_of(model)
    if group is None or driver is None or not driver.spans_processes:
        return True
    if callback not in _writers:
        _writers[callback] = group.writes(Path(place))
    return _writers[callback]


_writers: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
