"""Sources in files: records, lines of text, pieces of fixed length; and names of files.

In: paths, or a stage that gives them.  Out: stages whose elements are bytes.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from manyhands.data.dataset.arguments import paths_of
from manyhands.data.dataset.draws import Run
from manyhands.data.dataset.moving import Over
from manyhands.data.dataset.records import (
    DamagedFileError,
    MissingFileError,
    RecordReader,
    open_file,
)
from manyhands.data.dataset.spec import TensorSpec
from manyhands.data.dataset.stage import UNKNOWN, Rows, Stage
from manyhands.data.dataset.structure import TEXT
from manyhands.errors import DataError, explain

_MOST_AT_ONCE = 64
_GROUP_BYTES = 2**18


class Reader(Protocol):
    """One open file."""

    def read(self) -> bytes | None:
        """Next piece; None at the end."""
        ...

    def skip(self, count: int) -> int:
        """Pass over pieces."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


@dataclass(eq=False)
class Files(Stage):
    """The pieces of files, one file after the other."""

    parent: Stage
    """Gives the paths."""
    opener: Callable[[bytes], Reader]
    name: str

    def __post_init__(self) -> None:
        self.parents = (self.parent,)

    @property
    def title(self) -> str:
        """How the user wrote it."""
        return self.name

    @property
    def way(self) -> str:
        """How it runs."""
        return "rows (files)"

    @property
    def is_batched(self) -> bool:
        """Whether its elements are batches."""
        return False

    def length(self) -> int:
        """How many elements."""
        return UNKNOWN

    def _spec(self) -> Any:
        return TensorSpec((), TEXT)

    def _rows(self, run: Run) -> Rows:
        return FileRows(self, self.parent.rows(run))


class FileRows(Over):
    """One pass over files."""

    def __init__(self, stage: Files, paths: Rows) -> None:
        super().__init__(paths)
        self._stage = stage
        self._paths: list[bytes] = []
        self._now: Reader | None = None
        self._later: Exception | None = None

    def next_few(self) -> list[bytes]:
        """Give a handful, for a thread that reads ahead; an error comes in its turn."""
        few = [next(self)]
        size = len(few[0])
        try:
            while len(few) < _MOST_AT_ONCE and size < _GROUP_BYTES:
                few.append(next(self))
                size += len(few[-1])
        except (StopIteration, DataError) as ended:
            self._later = ended
        return few

    def __next__(self) -> bytes:
        if self._later is not None:
            raise self._later
        while True:
            if self._now is None:
                self._now = self._stage.opener(self._next_path())
            piece = self._now.read()
            if piece is not None:
                return piece
            self._end()

    def _next_path(self) -> bytes:
        if not self._paths:
            named = np.asarray(next(self._source), object).reshape(-1)
            self._paths = paths_of(named).tolist()[::-1]
        return self._paths.pop()

    def skip(self, count: int) -> int:
        """Pass over pieces, file by file."""
        done = 0
        while done < count:
            if self._now is None:
                try:
                    self._now = self._stage.opener(self._next_path())
                except StopIteration:
                    return done
            done += self._now.skip(count - done)
            if done < count:
                self._end()
        return done

    def _end(self) -> None:
        if self._now is not None:
            self._now.close()
            self._now = None

    def close(self) -> None:
        """Close the open file."""
        self._end()
        super().close()


@dataclass
class LineReader:
    """Lines of a text file, without their ends."""

    path: bytes
    compression: str

    def __post_init__(self) -> None:
        self._file = open_file(self.path, self.compression)

    def read(self) -> bytes | None:
        """Next line."""
        line = self._file.readline()
        if not line:
            return None
        line = line.removesuffix(b"\n")
        return line.removesuffix(b"\r")

    def skip(self, count: int) -> int:
        """Pass over lines."""
        return sum(1 for _ in zip(range(count), iter(self.read, None), strict=False))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass
class PieceReader:
    """Pieces of fixed length between a header and a footer."""

    path: bytes
    piece_bytes: int
    header_bytes: int
    footer_bytes: int
    compression: str

    def __post_init__(self) -> None:
        with open_file(self.path, self.compression) as file:
            data = file.read()
        self._data = data[self.header_bytes : len(data) - self.footer_bytes]
        if len(self._data) % self.piece_bytes:
            raise DamagedFileError(
                explain(
                    "A file does not hold a whole number of records.",
                    got=f"{os.fsdecode(self.path)}: {len(self._data)} bytes between header and "
                    f"footer, records of {self.piece_bytes}",
                    fix="check record_bytes, header_bytes and footer_bytes.",
                )
            )
        self._at = 0

    def read(self) -> bytes | None:
        """Next piece."""
        piece = self._data[self._at : self._at + self.piece_bytes]
        self._at += len(piece)
        return piece or None

    def skip(self, count: int) -> int:
        """Pass over pieces."""
        left = (len(self._data) - self._at) // self.piece_bytes
        self._at += min(count, left) * self.piece_bytes
        return min(count, left)

    def close(self) -> None:
        """Nothing is open."""


def record_opener(compression: str) -> Callable[[bytes], Reader]:
    """Open TFRecord files."""
    return lambda path: RecordReader(path, compression)


def matching_files(patterns: list[str]) -> list[bytes]:
    """Paths that match, sorted; an error where nothing does."""
    found = {path for pattern in patterns for path in glob.glob(pattern)}
    found |= {pattern for pattern in patterns if os.path.exists(pattern)}
    if not found:
        raise MissingFileError(
            explain(
                "No file matches.",
                got=", ".join(patterns) + _nearest(patterns[0] if patterns else ""),
                fix="check the pattern; * matches within one folder.",
            )
        )
    return sorted(os.fsencode(path) for path in found)


def _nearest(pattern: str) -> str:
    folder, name = os.path.split(pattern)
    if not os.path.isdir(folder or "."):
        return f" (there is no folder {folder!r})"
    num_files = len(fnmatch.filter(os.listdir(folder or "."), "*"))
    return f" ({num_files} entries in {folder or '.'!r}, none like {name!r})"
