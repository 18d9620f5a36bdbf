"""How one save is done.  In: the user's words, TensorFlow's included.  Out: CheckpointOptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """Options of `save`, `write`, `restore` and `read`.

    Args:
        experimental_io_device: accepted and not needed; files are written by this process.
        experimental_enable_async_checkpoint: TensorFlow's older word for `enable_async`.
        experimental_write_callbacks: called when the checkpoint is complete, with its path if
            they take an argument, in the thread that wrote it.
        enable_async: False makes `save` and `write` return only when the files are complete.
    """

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool | None = None
    experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None
    enable_async: bool | None = None

    @property
    def in_background(self) -> bool:
        """Whether the program goes on while the files are written."""
        return False not in (self.enable_async, self.experimental_enable_async_checkpoint)
