"""Resume: `fit` goes on where an earlier program was stopped.

In: a directory.  Out: checkpoints in it while `fit` runs, and a `fit` that begins at the epoch,
step and row where the last of them was saved.
Saved are the model, its optimizer, its metrics, the epoch and step, NumPy's and Python's random
numbers, and the place in the data.  In a group of processes the first writes, and the others take
from it what it has read.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np

from manyhands.checkpoint.background import background
from manyhands.checkpoint.checkpoint import Checkpoint
from manyhands.checkpoint.errors import CheckpointError, CheckpointWriteError
from manyhands.checkpoint.rotation import CheckpointManager
from manyhands.cluster import joined
from manyhands.cluster.exits import AGAIN_EXIT
from manyhands.data.order import numpy_state, set_numpy_state
from manyhands.engine import keras_inside
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
        self._every_steps = every_steps
        self._every_s = 600.0 if every_steps is None and every_seconds is None else every_seconds
        self._max_to_keep = max_to_keep
        self._begun: dict[str, Any] | None = None

    # fit's calls

    def on_train_begin(self, logs: Any = None) -> None:
        """Restore the last checkpoint, if there is one."""
        del logs
        self._group = joined()
        self._earlier: dict[str, Any] = {"epoch": [], "history": {}}
        self._ended: tuple[int | None, dict[str, float]] = (None, {})
        self._progress = Progress(self.model)
        self._where, self._metrics, self._numpy = _Where(), _Metrics(self.model), None
        checkpoint = Checkpoint(model=self.model, fit=self._where, metrics=self._metrics)
        self._manager: CheckpointManager | None = None
        if self._writes:
            self._manager = CheckpointManager(checkpoint, self._directory, self._max_to_keep)
        self._restore()
        self._saved_s = time.monotonic()
        self._since = 0
        self._preempted = threading.Event()
        self._handler = self._catch_sigterm()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Go to the step of the epoch where it was stopped."""
        del logs
        self._epoch, self._step = epoch, 0
        begun, self._begun = self._begun, None
        if begun is None:
            return
        self._step = begun["step"]
        if begun["step"]:
            self._progress.resume(begun["position"], begun["step"])
            self._metrics.put_back()  # Keras has just reset them
            if not begun["position"].get("replayed"):
                self._numpy = begun["numpy"]
        set_numpy_state(begun["numpy"])
        random.setstate((begun["python"][0], tuple(begun["python"][1]), begun["python"][2]))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save when it is time, and stop when that was asked for."""
        del logs
        if self._numpy is not None:  # drawing the order of rows again has moved it
            set_numpy_state(self._numpy)
            self._numpy = None
        done = batch + 1
        self._since += done - self._step
        self._step = done
        self._where.total += 1
        if done != (self.params or {}).get("steps"):  # after the last one the epoch is not over yet
            self._act(stop=self._must_stop())

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save what the epoch's last step wanted saved; the next step is the next epoch's."""
        self._epoch, self._step = epoch + 1, 0
        self._ended = (epoch, {name: float(value) for name, value in (logs or {}).items()})
        self._act(stop=self._must_stop())

    def _act(self, *, stop: bool) -> None:
        if stop:
            self._save(wait=True)
            self._stop()
        if self._is_time() and not background.is_busy:  # a slow disk makes saves rarer
            self._save(wait=False)

    def on_train_end(self, logs: Any = None) -> None:
        """Save the end, and give SIGTERM back."""
        del logs
        self._save(wait=True)
        history, now = self._history(), getattr(self.model, "history", None)
        if now is not None:
            now.epoch, now.history = history["epoch"], history["history"]
        if self._handler is not None:
            signal.signal(signal.SIGTERM, self._handler)
            self._handler = None

    # saving

    @property
    def _writes(self) -> bool:
        return self._group is None or self._group.index == 0

    def _is_time(self) -> bool:
        by_steps = self._every_steps is not None and self._since >= self._every_steps
        elapsed_s = time.monotonic() - self._saved_s
        return by_steps or (self._every_s is not None and elapsed_s >= self._every_s)

    def _save(self, *, wait: bool) -> None:
        self._since, self._saved_s = 0, time.monotonic()
        if self._manager is None:
            return
        python = random.getstate()
        self._where.state = {
            "epoch": self._epoch,
            "step": self._step,
            "total": self._where.total,
            "position": self._progress.position(),
            "numpy": numpy_state(),
            "python": [python[0], list(python[1]), python[2]],
            "history": self._history(),
        }
        try:
            self._manager.save()
            if wait:
                self._manager.sync()
        except CheckpointWriteError as error:
            if wait:
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
        self._epoch, self._step, found = 0, 0, None
        if self._manager is not None and self._manager.restore_or_initialize() is not None:
            found = self._where.state
        if self._group is not None:
            found = self._group.agree("where to resume", found)[0]
        if not found:
            return
        self._where.total = found["total"]
        self._begun = found
        keras_inside.begin_at_epoch(self.model, found["epoch"])
        self._earlier = found["history"]
        logger.info("resumed at epoch %d, step %d", found["epoch"], found["step"])

    # stopping

    def _catch_sigterm(self) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return None
        return signal.signal(signal.SIGTERM, lambda *_: self._preempted.set())

    def _must_stop(self) -> bool:
        if self._group is None:
            return self._preempted.is_set()
        if self._preempted.is_set():
            self._preempted.clear()
            self._group.stops.wish()
        return self._group.stops.reached(self._where.total)

    def _stop(self) -> None:
        sys.stderr.write(
            f"manyhands: stopped as asked, saved at epoch {self._epoch}, step {self._step}; "
            "start the program again to go on.\n"
        )
        sys.exit(AGAIN_EXIT)


class _Where:
    """Where `fit` is, as a checkpoint keeps it."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.total = 0

    def get_state(self) -> dict[str, Any]:
        """Give what is saved."""
        return self.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Take what was saved."""
        self.state = state


class _Metrics:
    """The metrics of a model, which a checkpoint of it leaves out."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._values: list[Any] | None = None

    def get_state(self) -> list[Any]:
        """Copy their values."""
        return [np.asarray(variable.value) for variable in self._model.metrics_variables]

    def set_state(self, state: list[Any]) -> None:
        """Remember what was saved."""
        self._values = state

    def put_back(self) -> None:
        """Give the metrics the values that were saved."""
        variables = self._model.metrics_variables
        if self._values is not None and len(variables) == len(self._values):
            for variable, value in zip(variables, self._values, strict=True):
                variable.assign(value)


__all__ = ["Resume"]
