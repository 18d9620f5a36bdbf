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
from manyhands.keras_bridge.binding import driver_of
from manyhands.keras_bridge.patching import Patch
from manyhands.keras_bridge.session import session_of


def _save(original: Any) -> Any:
    @functools.wraps(original)
    def save(self: Any, filepath: Any, overwrite: bool = True, *args: Any, **kwargs: Any) -> Any:
        with session_of(self).turns.taken():  # no thread's call uses up what is being written
            return write(self, filepath, overwrite, *args, **kwargs)

    def write(self: Any, filepath: Any, overwrite: bool, *args: Any, **kwargs: Any) -> Any:
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

    return save


def _is_one_file(filepath: Any) -> bool:
    text = os.fspath(filepath) if isinstance(filepath, str | os.PathLike) else ""
    return "://" not in text and str(text).endswith((".keras", ".h5"))


def _one_process(original: Any) -> Any:
    @functools.wraps(original)
    def act(self: Any, *args: Any, **kwargs: Any) -> None:
        if _is_writer(self, self.model, self.backup_dir):
            original(self, *args, **kwargs)

    return act


def _lines_nowhere(original: Any) -> Any:
    @functools.wraps(original)
    def begin(self: Any, logs: Any = None) -> None:
        place = self.filename
        if not _is_writer(self, self.model, place):
            self.filename = os.devnull
        try:
            original(self, logs)
        finally:
            self.filename = place

    return begin


def _folder_aside(original: Any) -> Any:
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

    return set_model


def _is_writer(callback: Any, model: Any, place: str | os.PathLike[str]) -> bool:
    """Whether this process writes what a callback would write in every process of a group."""
    group, driver = joined(), driver_of(model)
    if group is None or driver is None or not driver.spans_processes:
        return True
    if callback not in _writers:
        _writers[callback] = group.writes(Path(place))
    return _writers[callback]


_writers: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


PATCHES = [
    *(
        Patch(keras.Model, name, _save, "processes that save to one place leave whole files")
        for name in ("save", "save_weights")
    ),
    *(
        Patch(
            keras.callbacks.BackupAndRestore,
            name,
            _one_process,
            "one process writes and removes the files of a backup",
        )
        for name in ("_save_model", "on_train_end")
    ),
    Patch(
        keras.callbacks.CSVLogger,
        "on_train_begin",
        _lines_nowhere,
        "one process writes the lines, the others' go nowhere",
    ),
    Patch(
        keras.callbacks.TensorBoard,
        "set_model",
        _folder_aside,
        "the others write to a folder that is removed when their program ends",
    ),
]
