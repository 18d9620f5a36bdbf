"""Resume: `fit` goes on where an earlier program was stopped.

In: a directory.  Out: checkpoints in it while `fit` runs, and a `fit` that begins at the epoch,
step and row where the last of them was saved.
Saved are the model, its optimizer, its metrics, what the other callbacks have learned, the epoch
and step, NumPy's and Python's random numbers, and the place in the data.  In a group of processes
that train one model the first writes, and the others take from it what it has read.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np

from manyhands import keras_bridge
from manyhands.checkpoint import disk
from manyhands.checkpoint.background import background
from manyhands.checkpoint.checkpoint import Checkpoint
from manyhands.checkpoint.errors import CheckpointError, CheckpointWriteError
from manyhands.checkpoint.fit_state import Metrics, Others, Where
from manyhands.checkpoint.rotation import CheckpointManager
from manyhands.checkpoint.state_json import decode, encode
from manyhands.cluster import joined
from manyhands.cluster.exits import AGAIN_EXIT
from manyhands.data.random_state import random_state, set_random_state
from manyhands.errors import explain, warn
from manyhands.training.progress import Progress

logger = logging.getLogger(__name__)


class Resume(keras.callbacks.Callback):
    """Saves while `fit` runs, and goes on from the last save when `fit` is called again.

        model.fit(x, y, epochs=10, callbacks=[mh.callbacks.Resume("runs/1", every_steps=500)])

    Start the same program again, on as many processes or devices as there are, and it continues.
    SIGTERM (a preemption, Slurm's warning) saves and ends the program with exit code 75.

    Args:
        directory: where the checkpoints are.
        every_steps: save after so many steps.
        every_seconds: save after so many seconds; 600 if neither is given.
        max_to_keep: how many checkpoints to keep.
    """

    counts_launches = True
    """One call a launch is enough."""
    keeps_place = True
    """It runs after the other callbacks, and nothing is drawn ahead of the steps it counts."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        every_steps: int | None = None,
        every_seconds: float | None = None,
        *,
        max_to_keep: int = 2,
    ) -> None:
        super().__init__()
        for name, value in (("every_steps", every_steps), ("every_seconds", every_seconds)):
            if value is not None and (isinstance(value, bool) or value <= 0):
                raise CheckpointError(
                    explain(
                        f"{name} says how often to save.",
                        got=f"{name}={value!r}",
                        fix="pass a number above zero, or leave it out.",
                    )
                )
        self._directory = Path(directory)
        self._every_steps = self.looks_every = every_steps
        self._every_s = 600.0 if every_steps is None and every_seconds is None else every_seconds
        self._max_to_keep = max_to_keep
        self._begun: dict[str, Any] | None = None

    # fit's calls

    def on_train_begin(self, logs: Any = None) -> None:
        """Restore the last checkpoint, if there is one."""
        del logs
        self._earlier: dict[str, Any] = {"epoch": [], "history": {}}
        self._ended: tuple[int | None, dict[str, float]] = (None, {})
        self._progress = Progress(self.model)
        self._group = joined() if self._progress.spans_processes else None
        self._where, self._metrics, self._random = Where(), Metrics(self.model), None
        self._others = Others([one for one in self._progress.others() if one is not self])
        self._epoch, self._step = 0, 0
        self._manager: CheckpointManager | None = None
        if self._group is None or self._group.index == 0:
            disk.require_writable(self._directory)
            self._manager = CheckpointManager(self._kept(), self._directory, self._max_to_keep)
        self._restore()
        self._say_what_is_left()
        self._saved_s = time.monotonic()
        self._since = self._unsaid = 0
        self._preempted = threading.Event()
        self._catch_sigterm()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Go to the step of the epoch where it was stopped."""
        del logs
        self._epoch, self._step = epoch, 0
        begun, self._begun = self._begun, None
        if begun is None:
            return
        self._step, position = begun["step"], begun["position"]
        self._progress.resume(position, self._step)
        if position["random"] is not None and not position.get("goes_on"):
            self._random = begun["random"]
        if self._step:
            self._metrics.put_back()  # Keras has just reset them
            self._others.put_back()  # which have begun this epoch for the second time
            keras_bridge.set_learning_rate(self.model, begun["learning_rate"])
        set_random_state(begun["random"])

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save when it is time, and stop when that was asked for."""
        del logs
        if self._random is not None:  # drawing the order of rows again has moved it
            set_random_state(self._random)
            self._random = None
        num_steps = batch + 1 - self._step
        self._since += num_steps
        self._unsaid += num_steps
        self._where.total += num_steps
        self._step = batch + 1
        if self._step != (self.params or {}).get("steps"):  # the last: the epoch is not over yet
            self._act(stop=self._must_stop())

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save what the epoch's last step wanted saved; the next step is the next epoch's."""
        self._epoch, self._step = epoch + 1, 0
        self._ended = (epoch, {name: float(value) for name, value in (logs or {}).items()})
        self._act(stop=self._must_stop())

    def _act(self, *, stop: bool) -> None:
        if stop:
            self._save(wait=True, needed=True)
            self._stop()
        if self._is_time() and not background.is_busy:  # a slow disk makes saves rarer
            self._save(wait=False, needed=False)

    def on_train_end(self, logs: Any = None) -> None:
        """Save the end."""
        del logs
        begun, self._begun = self._begun, None
        if begun is None:
            self._save(wait=True, needed=False)
        else:  # nothing was left to do, and all is saved
            set_random_state(begun["random"])
        history, now = self._history(), getattr(self.model, "history", None)
        if now is not None:
            now.epoch, now.history = history["epoch"], history["history"]

    # saving

    def _kept(self) -> Checkpoint:
        return Checkpoint(
            model=self.model, fit=self._where, metrics=self._metrics, callbacks=self._others
        )

    def _is_time(self) -> bool:
        by_steps = self._every_steps is not None and self._since >= self._every_steps
        elapsed_s = time.monotonic() - self._saved_s
        return by_steps or (self._every_s is not None and elapsed_s >= self._every_s)

    def _save(self, *, wait: bool, needed: bool) -> None:
        self._since, self._saved_s = 0, time.monotonic()
        if self._manager is None:
            return
        keras_bridge.release_state(self.model)
        self._where.state = {
            "epoch": self._epoch,
            "step": self._step,
            "total": self._where.total,
            "stopped": bool(getattr(self.model, "stop_training", False)),
            "learning_rate": keras_bridge.learning_rate(self.model),
            "position": self._progress.position(),
            "random": random_state(),
            "history": self._history(),
        }
        try:
            self._manager.save()
            if wait:
                self._manager.sync()
        except CheckpointWriteError as error:
            if needed:
                raise
            warn(f"Training goes on, and the last checkpoint is older than wished. {error}")

    def _history(self) -> dict[str, Any]:
        """What each epoch gave, those of earlier programs included."""
        epochs, values = list(self._earlier["epoch"]), dict(self._earlier["history"])
        now = getattr(self.model, "history", None)
        if now is not None:
            epochs += now.epoch
            for name, told in now.history.items():
                values[name] = [*values.get(name, []), *(float(value) for value in told)]
        last, logs = self._ended
        if last is not None and last not in epochs:  # Keras' history has not heard of it yet
            epochs = [*epochs, last]
            values |= {name: [*values.get(name, []), value] for name, value in logs.items()}
        return {"epoch": epochs, "history": values}

    # restoring

    def _restore(self) -> None:
        found = None
        if self._manager is not None and self._manager.restore_alone() is not None:
            found = self._where.state
        found = self._of_first(found)
        if not found:
            return
        if "random" not in found:
            raise CheckpointError(
                explain(
                    "This checkpoint was written by an earlier manyhands, which kept other things.",
                    got=f"{self._directory}",
                    fix="finish that training with the version that began it, or give another "
                    "directory.",
                )
            )
        self._others.put_back()
        self._where.total = found["total"]
        self._begun = found
        self._earlier = found["history"]
        self._epoch = found["epoch"]
        self._first = found["epoch"]
        if found.get("stopped"):  # by a callback: there is nothing to go on with
            self._first = max(self._first, (self.params or {}).get("epochs", self._first))
        keras_bridge.begin_at_epoch(self.model, self._first)
        logger.info("resumed at epoch %d, step %d", found["epoch"], found["step"])

    def _say_what_is_left(self) -> None:
        if self._begun is not None and self._first >= (self.params or {}).get("epochs", 1):
            logger.warning(
                "nothing is left to do: %s holds a training of %d epochs. Ask for more epochs, or "
                "give another directory for another training.",
                self._directory,
                self._begun["epoch"],
            )

    def _of_first(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        """Tell the other processes what process 0 has read: of `fit`, and of the callbacks."""
        if self._group is None or not self._group.agree("where to resume", bool(found))[0]:
            return found
        aside: dict[str, np.ndarray] = {}
        mine = encode([found, self._others.saved], aside, "fit")
        told, names = self._group.agree("what was saved", [mine, list(aside)])[0]
        arrays = self._progress.arrays_of_first(list(aside.values()) if self._manager else None)
        first, others = decode(told, dict(zip(names, arrays, strict=True)))
        self._others.set_state(others)
        return first

    # stopping

    def _catch_sigterm(self) -> None:
        """Note SIGTERM while `fit` runs; whoever had it before has it again afterwards."""
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, lambda *_: self._preempted.set())
            self._progress.at_end(lambda: _give_back(before))

    def _must_stop(self) -> bool:
        if self._group is None:
            return self._preempted.is_set()
        if self._preempted.is_set():
            self._preempted.clear()
            self._group.stops.wish()
        num_steps, self._unsaid = self._unsaid, 0
        return self._group.stops.reached(num_steps)

    def _stop(self) -> None:
        sys.stderr.write(
            f"manyhands: stopped as asked, saved at epoch {self._epoch}, step {self._step}; "
            "start the program again to go on.\n"
        )
        sys.exit(AGAIN_EXIT)


def _give_back(handler: Any) -> None:
    signal.signal(signal.SIGTERM, handler)


__all__ = ["Resume"]
