"""Directories that are there as a whole or not at all.

In: a path and somebody who fills a directory.  Out: the directory at that path, in one rename.
What a killed process left behind is cleared by the next save into the same place.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manyhands.checkpoint.errors import CheckpointArgumentError, CheckpointWriteError
from manyhands.errors import explain

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def local(path: str | os.PathLike[str]) -> Path:
    """Take a path for one on this machine's file systems; an address of elsewhere is refused."""
    text = os.fspath(path)
    if "://" in text:
        raise CheckpointArgumentError(
            explain(
                "Checkpoints are written to file systems, not to addresses.",
                got=text,
                fix="give a directory, or mount the bucket and give its path.",
            )
        )
    return Path(text)


def make_directory(place: Path) -> None:
    """Make the directory that checkpoints go to, or say why that cannot be."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(place, error) from error


def require_directory(place: Path) -> None:
    """Refuse to make a directory again that somebody has removed."""
    if not place.is_dir():
        raise FileNotFoundError(f"{place} was removed")


def require_writable(directory: str | os.PathLike[str]) -> None:
    """Refuse a directory that cannot be written, before hours have gone into what it is to hold."""
    place = local(directory)
    make_directory(place)
    probe = _aside(place / "probe")
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise _unwritable(place, error) from error


def _unwritable(place: Path, error: OSError) -> CheckpointWriteError:
    return CheckpointWriteError(
        explain(
            "Checkpoints cannot be written to this directory.",
            got=f"{place}: {error.strerror or error}",
            fix="give a directory that this user may write to.",
        )
    )


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Give a new directory to fill; once filled it appears at `path`, on the disk for good."""
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(path.parent)
    temporary = _aside(path)
    temporary.mkdir()
    try:
        yield temporary
        _flush_tree(temporary)
        _move_in(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # also what was there before


def remove(path: Path) -> None:
    """Remove a directory: at once for whoever looks for it, then file by file."""
    aside = _aside(path)
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def replace_text(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old text or the new."""
    temporary = _aside(path)
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _flush(path.parent)


def clear_leftovers(directory: Path) -> None:
    """Remove what processes that are no more on this machine had not finished."""
    pattern = re.compile(rf"\..+\.part-{_machine()}-(\d+)-[0-9a-f]+")
    for path in directory.iterdir():
        match = pattern.fullmatch(path.name)
        if match and not _is_alive(int(match[1])):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _aside(path: Path) -> Path:
    mark = f"part-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f".{path.name}.{mark}")


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _move_in(temporary: Path, path: Path) -> None:
    """Put a directory in its place; if one is there already, the two change places in one step."""
    if not os.path.lexists(path):
        temporary.rename(path)
    elif not _exchange(temporary, path):
        remove(path)  # a file system without exchange: for an instant there is neither
        temporary.rename(path)
    _flush(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0


def _flush_tree(directory: Path) -> None:
    for folder, _, names in os.walk(directory):
        for name in names:
            _flush(Path(folder) / name)
        _flush(Path(folder))


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
