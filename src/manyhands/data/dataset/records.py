"""TFRecord files: records with their length and two checksums.

In: paths.  Out: records as bytes; a file that is missing, cut short or damaged is named with the
number of the record.  Gzip and zlib as in tf.data.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from manyhands.data.dataset.crc32c import masked
from manyhands.errors import DataError, explain

_HEAD = struct.Struct("<QI")
_FOOT = struct.Struct("<I")
_BUFFER_BYTES = 2**20


class MissingFileError(DataError, FileNotFoundError):
    """A file of a dataset is not there."""


class DamagedFileError(DataError):
    """A file of a dataset cannot be read to its end."""


def open_file(path: Any, compression: str = "") -> BinaryIO:
    """Open a file for reading, through its compression."""
    name = os.fsdecode(path)
    try:
        if compression == "GZIP":
            return io.BufferedReader(gzip.open(name, "rb"), _BUFFER_BYTES)  # pyright: ignore[reportArgumentType, reportReturnType]
        file = open(name, "rb", buffering=_BUFFER_BYTES)  # noqa: SIM115 - closed by who reads
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise MissingFileError(
            explain("A file of a dataset is not there.", got=name, fix="check the path.")
        ) from error
    if compression == "ZLIB":
        with file:
            return io.BytesIO(_inflated(file.read(), name))
    return file


def _inflated(data: bytes, name: str) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise DamagedFileError(
            explain(
                "A file cannot be decompressed.",
                got=f"{name}: {error}",
                fix="write the file again, or leave compression_type out if it is not compressed.",
            )
        ) from error


def checked_compression(compression: Any) -> str:
    """Read a compression_type as users write it."""
    found = "" if compression is None else str(compression)
    if found.upper() not in ("", "GZIP", "ZLIB"):
        raise DataError(
            explain("Unknown compression.", got=repr(compression), fix='"", "GZIP" or "ZLIB".')
        )
    return found.upper()


class RecordReader:
    """One file's records in order."""

    def __init__(self, path: Any, compression: str = "") -> None:
        self._path = os.fsdecode(path)
        self._file = open_file(path, compression)
        self._number = 0

    def read(self) -> bytes | None:
        """Give the next record; None at the end."""
        head = self._take(_HEAD.size)
        if not head:
            return None
        if len(head) < _HEAD.size:
            raise self._damaged("the file ends within a record's length")
        length, crc = _HEAD.unpack(head)
        if masked(head[:8]) != crc:
            raise self._damaged("the checksum of its length is wrong")
        data = self._take(length)
        foot = self._take(_FOOT.size)
        if len(data) < length or len(foot) < _FOOT.size:
            raise self._damaged("the file ends within the record")
        if masked(data) != _FOOT.unpack(foot)[0]:
            raise self._damaged("its checksum is wrong")
        self._number += 1
        return data

    def skip(self, count: int) -> int:
        """Pass over records; give how many there were."""
        for done in range(count):
            if self.read() is None:
                return done
        return count

    def _take(self, length: int) -> bytes:
        try:
            return self._file.read(length)
        except (EOFError, OSError, zlib.error, OverflowError, MemoryError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, why: str) -> DamagedFileError:
        return DamagedFileError(
            explain(
                "A record cannot be read.",
                got=f"{self._path}, record {self._number}: {why}",
                fix="write the file again, or leave it out; it may be cut short, damaged, "
                "compressed (compression_type), or no TFRecord file.",
            )
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_record(file: Any, data: bytes) -> None:
    """Append one record."""
    length = struct.pack("<Q", len(data))
    file.write(length + _FOOT.pack(masked(length)) + data + _FOOT.pack(masked(data)))


class TFRecordWriter:
    """Writes records to a file, as tf.io.TFRecordWriter."""

    def __init__(self, path: Any, options: Any = None) -> None:
        kind = checked_compression(getattr(options, "compression_type", options))
        name = Path(os.fsdecode(path))
        self._plain: list[bytes] | None = [] if kind == "ZLIB" else None
        self._file: Any = gzip.open(name, "wb") if kind == "GZIP" else open(name, "wb")  # noqa: SIM115

    def write(self, record: bytes) -> None:
        """Append one record."""
        if self._plain is None:
            write_record(self._file, record)
        else:
            out = io.BytesIO()
            write_record(out, record)
            self._plain.append(out.getvalue())

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._file.flush()

    def close(self) -> None:
        """End the file."""
        if self._plain is not None and not self._file.closed:
            self._file.write(zlib.compress(b"".join(self._plain)))
        self._file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
