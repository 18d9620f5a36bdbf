"""Whether a checkpoint is as it was written.

In: the path of a checkpoint.  Out: nothing, or the Damage that was found.
Every file is summed up, which takes its time; so what was proved, or written by this process, is
remembered for as long as no file has been touched since.
"""

from __future__ import annotations

import contextlib
import errno
from collections import OrderedDict
from pathlib import Path

from manyhands.checkpoint.manifest import Damage, Manifest, read_manifest, verify

_MOST_REMEMBERED = 64

_proved: OrderedDict[Path, tuple[tuple[str, int, int, int, int], ...]] = OrderedDict()


def prove(path: Path) -> Manifest:
    """Read a checkpoint's manifest and compare every file with it; Damage says what differs."""
    manifest = glance(path)
    try:
        verify(path, manifest)
    except OSError as error:
        raise _unreadable(error) from error
    remember(path)
    return manifest


def glance(path: Path) -> Manifest:
    """Read a checkpoint's manifest and compare the sizes of the files; Damage if they differ."""
    try:
        return read_manifest(path)
    except OSError as error:
        raise _unreadable(error) from error


def damage_of(path: Path) -> Damage | None:
    """Find what is wrong with a checkpoint, None if nothing is."""
    try:
        known = _proved.get(path.absolute())
        if known is not None and known == _touched(path):
            return None
        prove(path)
    except Damage as damage:
        return damage
    return None


def remember(path: Path) -> None:
    """Note that a checkpoint is as it was written, by now."""
    with contextlib.suppress(OSError):  # somebody may remove it meanwhile
        _proved[path.absolute()] = _touched(path)
    while len(_proved) > _MOST_REMEMBERED:
        _proved.popitem(last=False)


def _touched(path: Path) -> tuple[tuple[str, int, int, int, int], ...]:
    """When each file was changed last, as its file system tells."""
    stats = [(str(file), file.stat()) for file in sorted(path.rglob("*"))]
    return tuple((n, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for n, s in stats)


def _unreadable(error: OSError) -> Exception:
    """Take a disk that cannot read for damage; one that does not let us may be mended."""
    if error.errno in (errno.EIO, errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
        return Damage(f"a file cannot be read: {error.strerror}")
    return error
