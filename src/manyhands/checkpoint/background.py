"""One save at a time, while the program goes on.

In: jobs that write a checkpoint.  Out: they run one after the other in a thread; a failure is
kept, and raised at the next save or `sync`.  The interpreter does not end before the last is done.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from manyhands.checkpoint.errors import CheckpointError, CheckpointWriteError
from manyhands.errors import explain

logger = logging.getLogger(__name__)


class Background:
    """The thread that writes checkpoints, and what became of its last job."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._path: Path | None = None
        self._failure: tuple[Path, BaseException] | None = None
        self._at_exit = False
        self._turn = threading.RLock()

    def run(self, path: Path, job: Callable[[], None], *, wait: bool) -> None:
        """Begin a job when the one before is done; with `wait`, see it end."""
        with self._turn:
            self.finish()
            if wait:
                self._run_here(path, job)
                return
            self._wait_at_exit()
            self._path = path
            self._thread = threading.Thread(
                target=self._run, args=(path, job), name="manyhands-checkpoint"
            )
            self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether a job is still being done."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def finish(self) -> None:
        """Wait for the job that runs, and raise if one has failed."""
        with self._turn:
            self.wait()
            failed, self._failure = self._failure, None
        if failed is not None:
            raise _explained(*failed) from failed[1]

    def wait(self, directory: Path | None = None) -> None:
        """Wait for the job that runs, if it writes into this directory."""
        thread, path = self._thread, self._path
        if thread is None or path is None or thread is threading.current_thread():
            return
        if directory is None or path.parent.absolute() == directory.absolute():
            thread.join()
            self._thread = None

    def _run_here(self, path: Path, job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as failure:
            raise _explained(path, failure) from failure

    def _run(self, path: Path, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as failure:
            if _was_removed(path, failure):  # a program may throw away what it has just saved
                logger.warning("%s was not kept: it was removed while it was written", path)
            else:
                self._failure = path, failure

    def _wait_at_exit(self) -> None:
        """Say so at the end of the program if the last save failed; Python waits for our thread."""
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self._end)

    def _end(self) -> None:
        self.wait()
        if self._failure is not None:
            logger.error("%s", _explained(*self._failure))


def _was_removed(path: Path, failure: BaseException) -> bool:
    """Whether the directory, or what had been written there already, is gone."""
    if not path.parent.is_dir():
        return True
    gone = isinstance(failure, FileNotFoundError) or str(failure).startswith("NOT_FOUND")
    return gone and str(path.parent) in str(failure)


def _explained(path: Path, failure: BaseException) -> CheckpointError:
    if isinstance(failure, CheckpointError):
        return failure
    return CheckpointWriteError(
        explain(
            "A checkpoint could not be written; the ones before it are as they were.",
            got=f"{path}: {type(failure).__name__}: {failure}",
            fix="free space or choose another directory, and save again.",
        )
    )


background = Background()
