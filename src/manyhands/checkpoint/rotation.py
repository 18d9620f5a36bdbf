"""CheckpointManager: a directory of checkpoints that does not grow for ever.

In: a Checkpoint and a directory.  Out: numbered checkpoints, the oldest removed when a new one is
complete, never before.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from manyhands.checkpoint import disk
from manyhands.checkpoint.background import background
from manyhands.checkpoint.checkpoint import Checkpoint, PathLike
from manyhands.checkpoint.errors import (
    CheckpointArgumentError,
    CheckpointDamagedError,
    CheckpointNotFoundError,
)
from manyhands.checkpoint.index import CheckpointState, get_checkpoint_state, write_state
from manyhands.checkpoint.latest import candidates, first_whole, say_passed_by
from manyhands.checkpoint.options import CheckpointOptions
from manyhands.checkpoint.same_one import as_the_first
from manyhands.errors import explain


class CheckpointManager:
    """Keeps the last checkpoints of one directory.

    Args:
        checkpoint: the Checkpoint to save and restore.
        directory: where; checkpoints that are there already are taken over.
        max_to_keep: how many to keep; None keeps all.
        keep_checkpoint_every_n_hours: keep one of every so many hours besides.
        checkpoint_name: the part of the path before the number.
        step_counter: a variable that counts steps, for `checkpoint_interval`.
        checkpoint_interval: save only when so many steps have passed since the last save.
        init_fn: called by `restore_or_initialize` where there is no checkpoint yet.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: PathLike,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        _check(max_to_keep, checkpoint_interval, step_counter)
        self._checkpoint = checkpoint
        self._directory = disk.local(directory)
        self._given_directory = os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._keep_every_s = (keep_checkpoint_every_n_hours or 0) * 3600
        self._name = checkpoint_name
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step: int | None = None
        self._take_over()

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Save under the next number, or this one; None when it is not time for it yet."""
        if not self._is_time(check_interval):
            return None
        background.finish()
        counter = self._checkpoint.save_counter
        counter.assign(int(counter) + 1)
        number = int(counter if checkpoint_number is None else checkpoint_number)
        path = os.path.join(self._given_directory, f"{self._name}-{number}")
        return self._checkpoint._write(path, options, then=self._record)

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path; or call `init_fn` and return None.

        One that is damaged is passed by, and said; where all are, that is an error.
        """
        chosen, damaged = self._restore_newest()
        if chosen is None:
            if self._init_fn is not None:
                self._init_fn()
            return None
        path = as_the_first(self._given_directory, chosen, damaged)
        if path != chosen:
            self._checkpoint.restore(path)
        say_passed_by(damaged, path)
        if self._interval is not None:
            self._last_step = int(self._step_counter)
        return path

    def restore_alone(self) -> str | None:
        """Restore the latest checkpoint in this process, which will tell the others of it."""
        path, damaged = self._restore_newest()
        if path is not None:
            say_passed_by(damaged, path)
        return path

    def _restore_newest(self) -> tuple[str | None, dict[str, str]]:
        """Restore the newest that is whole; give what is wrong with those that are newer."""
        damaged: dict[str, str] = {}
        for path in self._candidates():
            try:
                self._checkpoint.restore(path)
            except CheckpointNotFoundError:
                continue
            except CheckpointDamagedError as error:
                damaged[path] = error.damage
                continue
            self._demote(damaged)
            return path, damaged
        if damaged:
            raise _all_damaged(damaged)
        return None, damaged

    def _candidates(self) -> list[str]:
        return candidates(self._given_directory, prefix=self._name)

    def _demote(self, damaged: Iterable[str]) -> None:
        """Let damaged checkpoints be the first to go."""
        first = {path: self._kept[path] for path in damaged if path in self._kept}
        self._kept = first | {p: t for p, t in self._kept.items() if p not in first}

    def sync(self) -> None:
        """Wait until what was saved is on the disk; raise if that failed."""
        background.finish()

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint that is whole; where all are damaged, of those."""
        return first_whole(self._candidates())

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints to be rotated, oldest first."""
        background.wait(self._directory)
        return list(self._kept)

    @property
    def directory(self) -> str:
        """Where the checkpoints are."""
        return self._given_directory

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps must pass between two saves."""
        return self._interval

    def _take_over(self) -> None:
        """Go on with the checkpoints that an earlier program left here."""
        state = get_checkpoint_state(self._given_directory)
        self._kept: dict[str, float] = {}
        self._last_preserved = time.time() - 1
        if state is None:
            return
        self._last_preserved = state.last_preserved_timestamp or self._last_preserved
        self._kept = {p: t for p, t in state.timestamps().items() if os.path.isdir(p)}

    def _is_time(self, check_interval: bool) -> bool:
        if self._interval is None:
            return True
        step, last = int(self._step_counter), self._last_step
        if last is not None and (step == last or (check_interval and step < last + self._interval)):
            return False
        self._last_step = step
        return True

    def _record(self, path: Path) -> None:
        """List a checkpoint that is complete, then remove what is too old."""
        name = os.path.join(self._given_directory, path.name)
        self._kept.pop(name, None)  # saved again: it is the newest now
        self._kept[name] = time.time()
        self._write_state(name)
        expired = self._expired()
        for old in expired:
            disk.remove(Path(old))
        if expired:
            self._write_state(name)

    def _expired(self) -> list[str]:
        expired = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            saved_at = self._kept.pop(path)
            if self._keep_every_s and saved_at - self._keep_every_s >= self._last_preserved:
                self._last_preserved = saved_at
            else:
                expired.append(path)
        return expired

    def _write_state(self, latest: str) -> None:
        write_state(
            self._directory,
            CheckpointState(
                model_checkpoint_path=latest,
                all_model_checkpoint_paths=tuple(self._kept),
                all_model_checkpoint_timestamps=tuple(self._kept.values()),
                last_preserved_timestamp=self._last_preserved,
            ),
        )


def _check(max_to_keep: int | None, interval: int | None, counter: Any) -> None:
    if max_to_keep is not None and max_to_keep <= 0:
        raise _misused(
            "max_to_keep must be positive.", f"max_to_keep={max_to_keep}", "pass None to keep all."
        )
    if interval is not None and counter is None:
        raise _misused(
            "checkpoint_interval needs something that counts steps.",
            f"checkpoint_interval={interval}, step_counter=None",
            "pass step_counter=, a variable that your loop counts up.",
        )


def _all_damaged(damaged: dict[str, str]) -> CheckpointDamagedError:
    error = CheckpointDamagedError(
        explain(
            "Every checkpoint here is damaged: none is as it was written.",
            got="; ".join(f"{path}: {damage}" for path, damage in damaged.items()),
            fix="bring one back from a copy, or give another directory to start anew; nothing "
            "was removed.",
        )
    )
    error.damage = next(iter(damaged.values()))
    return error


def _misused(what: str, got: str, fix: str) -> CheckpointArgumentError:
    return CheckpointArgumentError(explain(what, got=got, fix=fix))
