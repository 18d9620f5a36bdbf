"""A progress bar that shows rows per second.

In: Keras' callbacks of `fit`.  Out: one line an epoch on the terminal; plain text when piped.
It asks for nothing between launches, so it does not slow training down.
"""

from __future__ import annotations

import time
from typing import Any

import keras
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress

from manyhands.training import feed_counts


class Progress(keras.callbacks.Callback):
    """`model.fit(..., verbose=0, callbacks=[mh.telemetry.Progress()])`."""

    counts_launches = True
    """Its batch hooks are content with one call a launch."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._console = console or Console()
        self._bar: RichProgress | None = None
        self._task: Any = None
        self._began_s = 0.0
        self._rows_before = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:  # noqa: ARG002
        """Start a line."""
        self._began_s = time.perf_counter()
        self._rows_before = self._rows()
        asked: dict[str, Any] = self.params or {}
        self._title = f"epoch {epoch + 1}/{asked.get('epochs', 1)}"
        if not self._console.is_terminal:
            return
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}  {task.fields[logs]}"),
            console=self._console,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=asked.get("steps"), speed="", logs="")

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(
                self._task, completed=batch + 1, speed=self._speed(), logs=_shown(logs)
            )

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:  # noqa: ARG002
        """Finish the line."""
        if self._bar is not None:
            self._bar.update(self._task, speed=self._speed(), logs=_shown(logs))
            self._bar.stop()
            self._bar = None
        else:
            self._console.print(f"{self._title}  {self._speed()}  {_shown(logs)}")

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:  # noqa: ARG002
        """Leave the terminal as it was, also after an early end."""
        if self._bar is not None:
            self._bar.stop()

    def _rows(self) -> int:
        counts = feed_counts(self._model)
        return 0 if counts is None else counts.num_rows

    def _speed(self) -> str:
        elapsed_s = max(1e-9, time.perf_counter() - self._began_s)
        return f"{(self._rows() - self._rows_before) / elapsed_s:,.0f} rows/s"


def _shown(logs: dict[str, float] | None) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in (logs or {}).items())
