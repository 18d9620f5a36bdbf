"""Every way in which files of a checkpoint are damaged: each is done to one file of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path


def files(directory: Path) -> list[Path]:
    """List the files below a directory."""
    return sorted(path for path in directory.rglob("*") if path.is_file())


def flip_bit(path: Path, chosen: random.Random) -> None:
    """Change one bit somewhere; not in what follows the last letter, which says nothing."""
    content = bytearray(path.read_bytes())
    content[chosen.randrange(len(content.rstrip()))] ^= 1 << chosen.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, chosen: random.Random) -> None:
    """Lose the end."""
    content = path.read_bytes()
    path.write_bytes(content[: chosen.randrange(1, len(content.rstrip()))])


def lengthen(path: Path, chosen: random.Random) -> None:
    """Grow."""
    path.write_bytes(path.read_bytes() + chosen.randbytes(9))


def zero(path: Path, chosen: random.Random) -> None:
    """Be as long as before, and all zeros."""
    del chosen
    path.write_bytes(bytes(path.stat().st_size))


def empty(path: Path, chosen: random.Random) -> None:
    """Have nothing in it."""
    del chosen
    path.write_bytes(b"")


def lose(path: Path, chosen: random.Random) -> None:
    """Not be there."""
    del chosen
    path.unlink()


def be_a_directory(path: Path, chosen: random.Random) -> None:
    """Be something else."""
    del chosen
    path.unlink()
    path.mkdir()


def swap(path: Path, chosen: random.Random) -> None:
    """Change places with another file of the checkpoint."""
    other = chosen.choice([one for one in files(_checkpoint(path)) if one != path])
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


def _checkpoint(path: Path) -> Path:
    return next(parent for parent in path.parents if (parent / "manifest.json").exists())


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    made.__name__: made
    for made in (flip_bit, truncate, lengthen, zero, empty, lose, be_a_directory, swap)
}
