"""tf.io.gfile: files and folders of this machine.

Who looks at a folder, or removes one, finds the checkpoint that was saved there just before, as in
TensorFlow, which saves before it goes on: what is still being written is waited for.
"""

from __future__ import annotations

import glob as globbing
import io
import os
import shutil
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from manyhands.checkpoint.background import background
from manyhands.tf.errors import AlreadyExistsError, NotFoundError

FileStatistics = namedtuple("FileStatistics", ["length", "mtime_nsec", "is_directory"])


class GFile:
    """A file."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        self.name = os.fspath(name)
        self.mode = mode
        try:
            self._file: Any = open(self.name, mode)  # noqa: SIM115 - closed by close
        except FileNotFoundError as error:
            raise NotFoundError(f"{self.name}; No such file or directory") from error

    def read(self, n: int = -1) -> Any:
        """Read so much, or all of it."""
        return self._file.read(n)

    def readline(self) -> Any:
        """Read a line."""
        return self._file.readline()

    def readlines(self) -> list[Any]:
        """Read all lines."""
        return self._file.readlines()

    def write(self, content: Any) -> None:
        """Write."""
        self._file.write(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> None:
        """Go somewhere."""
        self._file.seek(offset, whence)

    def tell(self) -> int:
        """Where we are."""
        return self._file.tell()

    def size(self) -> int:
        """Bytes in the file."""
        return os.path.getsize(self.name)

    def flush(self) -> None:
        """Put everything on the disk."""
        self._file.flush()

    def close(self) -> None:
        """End."""
        self._file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


Open = GFile


def exists(path: Any) -> bool:
    """Whether it is there."""
    background.wait()
    return os.path.exists(path)


def isdir(path: Any) -> bool:
    """Whether it is a folder."""
    background.wait()
    return os.path.isdir(path)


def glob(pattern: Any) -> list[str]:
    """Find files by a pattern, or several."""
    background.wait()
    patterns = [pattern] if isinstance(pattern, str | os.PathLike) else pattern
    return [path for one in patterns for path in sorted(globbing.glob(os.fspath(one)))]


def listdir(path: Any) -> list[str]:
    """List a folder."""
    background.wait()
    try:
        return os.listdir(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"Could not find directory {path}") from error


def makedirs(path: Any) -> None:
    """Make a folder, and those around it."""
    os.makedirs(path, exist_ok=True)


def mkdir(path: Any) -> None:
    """Make a folder."""
    try:
        os.mkdir(path)
    except FileExistsError as error:
        raise AlreadyExistsError(f"{path} exists") from error
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}; its parent does not exist") from error


def remove(path: Any) -> None:
    """Delete a file."""
    try:
        os.remove(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}; No such file or directory") from error


def rmtree(path: Any) -> None:
    """Delete a folder and all in it."""
    background.wait()
    try:
        shutil.rmtree(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}; No such file or directory") from error


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _free(dst, overwrite)
    shutil.copyfile(src, dst)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file another name."""
    _free(dst, overwrite)
    os.replace(src, dst)


def _free(path: Any, overwrite: bool) -> None:
    if os.path.exists(path) and not overwrite:
        raise AlreadyExistsError(f"file already exists: {path}")


def stat(path: Any) -> FileStatistics:
    """What is known of a file."""
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}; No such file or directory") from error
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path))


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[Any]:
    """Go through folders."""
    return os.walk(top, topdown, onerror)


def join(path: Any, *paths: Any) -> str:
    """Join the parts of a path."""
    return os.path.join(path, *paths)
