"""Checkpoint: names for objects, saved and restored together.

In: models, optimizers, variables, iterators, by name.  Out: numbered checkpoints on the disk, and
the same values back in the objects, on any number of devices.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from manyhands.checkpoint import saving
from manyhands.checkpoint.background import background
from manyhands.checkpoint.disk import local, make_directory, require_directory
from manyhands.checkpoint.errors import NotTrackableError
from manyhands.checkpoint.graph import children, kind_of
from manyhands.checkpoint.index import add_latest
from manyhands.checkpoint.loading import load_arrays, open_checkpoint
from manyhands.checkpoint.options import CheckpointOptions
from manyhands.checkpoint.restoration import Restoration, settle
from manyhands.checkpoint.status import NothingRestored, RestoreStatus
from manyhands.cluster import joined
from manyhands.errors import explain

PathLike = str | os.PathLike[str]


class Checkpoint:
    """A group of objects whose values are saved and restored together.

        checkpoint = mh.checkpoint.Checkpoint(model=model, optimizer=optimizer, step=step)
        checkpoint.restore(mh.checkpoint.latest_checkpoint("runs/1"))   # None at the first start
        path = checkpoint.save("runs/1/ckpt")                           # "runs/1/ckpt-1"

    Args:
        root: an object whose parts are saved as this checkpoint's own.
        **objects: Keras models, layers, optimizers, metrics, seed generators and variables; other
            checkpoints; objects with `get_state` and `set_state`; lists, tuples and dicts of
            those; objects of your own that have such attributes.  Also `checkpoint.name = object`.

    A compiled model brings its optimizer along, not the metrics that `fit` resets at each epoch.
    A plain number, string or array cannot be restored in place, and is refused: make it a
    `keras.Variable`.  Inside lists, dicts and objects such values are passed by.
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        self._root = root
        self._save_counter: keras.Variable | None = None
        if root is not None:
            _check("root", root)
        for name, value in objects.items():
            _check(name, value)
            setattr(self, name, value)

    @property
    def save_counter(self) -> keras.Variable:
        """How often `save` has been called, as a variable that is saved along."""
        if self._save_counter is None:
            self._save_counter = keras.Variable(
                0, dtype="int32", trainable=False, name="save_counter"
            )
        return self._save_counter

    def save(self, file_prefix: PathLike, options: CheckpointOptions | None = None) -> str:
        """Save to `prefix-1`, `prefix-2`, … and make that the latest of its directory.

        Returns the path at once; the files are written while the program goes on, unless
        `options` say otherwise.
        """
        saving.refuse_in_trace("Checkpoint.save")
        background.finish()
        self.save_counter.assign(int(self.save_counter) + 1)
        path = f"{os.fspath(file_prefix)}-{int(self.save_counter)}"
        return self._write(path, options, then=add_latest)

    def write(self, file_prefix: PathLike, options: CheckpointOptions | None = None) -> str:
        """Save to exactly this path, without counting and without making it the latest."""
        return self._write(os.fspath(file_prefix), options)

    def restore(
        self, save_path: PathLike | None, options: CheckpointOptions | None = None
    ) -> RestoreStatus:
        """Give the objects their saved values; those not made yet get theirs when they are.

        None does nothing, so that a program may pass `latest_checkpoint(directory)` at any start.
        """
        if save_path is not None:
            self.save_counter  # noqa: B018  (it is restored along)
        return self.read(save_path, options)

    def read(
        self, save_path: PathLike | None, options: CheckpointOptions | None = None
    ) -> RestoreStatus:
        """Give the objects the values that `write` saved."""
        del options
        if save_path is None:
            return NothingRestored()
        saving.refuse_in_trace("Checkpoint.restore")
        manifest = open_checkpoint(save_path)
        arrays = load_arrays(save_path, manifest, manifest.stored())
        restoration = Restoration(os.fspath(save_path), manifest, arrays)
        restoration.begin(*self._roots())
        return RestoreStatus(restoration, *self._roots())

    def sync(self) -> None:
        """Wait until what was saved is on the disk; raise if that failed."""
        background.finish()

    def _write(
        self,
        path: str,
        options: CheckpointOptions | None,
        then: Callable[[Path], None] | None = None,
    ) -> str:
        """Copy the values, and write them in the background; `then` runs when they are complete."""
        options, place = options or CheckpointOptions(), local(path)
        background.finish()
        group = joined()
        if group is not None and not group.writes(place.parent):
            return path
        settle()
        make_directory(place.parent)
        taken = saving.snapshot(*self._roots())

        def job() -> None:
            require_directory(place.parent)
            saving.write(place, taken)
            if then is not None:
                then(place)
            for callback in options.experimental_write_callbacks or ():
                callback(*([path] if inspect.signature(callback).parameters else []))

        background.run(place, job, wait=not options.in_background)
        return path

    def _roots(self) -> tuple[Any, ...]:
        return (self,) if self._root is None else (self, self._root)

    def _manyhands_parts(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        inner = {} if self._root is None else children(self._root)
        counter = {} if self._save_counter is None else {"save_counter": self._save_counter}
        return inner | own | counter

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("_"):
            settle()  # a value may be waiting under this name


def _check(name: str, value: Any) -> None:
    if isinstance(value, list | tuple | dict) or kind_of(value) is not None:
        return
    raise NotTrackableError(
        explain(
            "A Checkpoint was given something that has no state of its own to restore.",
            got=f"{name}={value!r}"[:200],
            fix=f"wrap it: {name}=keras.Variable({name})."
            if hasattr(value, "__array__") or isinstance(value, int | float)
            else "leave it out, or give its class get_state() and set_state(state).",
        )
    )
