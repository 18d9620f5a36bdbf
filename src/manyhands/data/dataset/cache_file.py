"""A cache in a file: written whole or not at all, read by any later program.

In: elements.  Out: a file of records with checksums: the nesting as JSON, then each element's
leaves as NumPy's own format.  Nothing is pickled.  It appears under its name when it is complete.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from manyhands.data.dataset.records import RecordReader, write_record
from manyhands.data.dataset.stage import Rows
from manyhands.data.dataset.structure import leaves
from manyhands.errors import DataError, explain

_MAGIC = "manyhands cache 1"


class Writer:
    """Writes beside the place and moves there when done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._name = ""
        self._over = False

    def add(self, element: Any) -> None:
        """Write one element."""
        if self._file is None:
            self._begin(element)
        assert self._file is not None
        write_record(self._file, _packed(leaves(element)))

    def _begin(self, element: Any) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle, self._name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        self._file = os.fdopen(handle, "wb")
        header = {"format": _MAGIC, "nesting": _nesting(element)}
        write_record(self._file, json.dumps(header).encode())

    def finish(self) -> None:
        """Make the file appear."""
        if self._over:
            return
        if self._file is None:
            self._begin(())
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._name, self._path)
        self._over = True

    def abandon(self) -> None:
        """Leave no trace of a pass broken off."""
        if not self._over and self._file is not None:
            self._file.close()
            Path(self._name).unlink(missing_ok=True)
        self._over = True


class FileRows(Rows):
    """Elements from a finished cache."""

    def __init__(self, path: Path) -> None:
        self._records = RecordReader(path)
        try:
            self._nesting = self._read_nesting(path)
        except DataError:
            self.close()
            raise

    def _read_nesting(self, path: Path) -> Any:
        header = self._records.read()
        try:
            found = json.loads(header or b"")
            if found["format"] != _MAGIC:
                raise ValueError(found["format"])
            return found["nesting"]
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                explain(
                    "A cache file was not written by this version of manyhands.",
                    got=str(path),
                    fix="delete the file, or give cache another name.",
                )
            ) from error

    def __next__(self) -> Any:
        record = self._records.read()
        if record is None:
            raise StopIteration
        return _nested(self._nesting, iter(_unpacked(record)))

    def skip(self, count: int) -> int:
        """Pass over without unpacking."""
        return self._records.skip(count)

    def close(self) -> None:
        """Close the file."""
        self._records.close()


def _nesting(element: Any) -> Any:
    if isinstance(element, dict):
        return {"dict": {name: _nesting(part) for name, part in element.items()}}
    if isinstance(element, tuple):
        return [_nesting(part) for part in element]
    return None


def _nested(nesting: Any, parts: Any) -> Any:
    if isinstance(nesting, dict):
        return {name: _nested(part, parts) for name, part in nesting["dict"].items()}
    if isinstance(nesting, list):
        return tuple(_nested(part, parts) for part in nesting)
    return next(parts)


def _packed(parts: list[Any]) -> bytes:
    out = io.BytesIO()
    for part in parts:
        if isinstance(part, bytes) or part.dtype == object:
            _pack_text(out, np.asarray(part, object))
        else:
            out.write(b"N")
            array = np.asarray(part)
            name = array.dtype.name.encode()  # also for bfloat16, which NumPy's format forgets
            out.write(len(name).to_bytes(1, "little") + name)
            np.lib.format.write_array(out, np.frombuffer(array.tobytes(), np.uint8))
            np.lib.format.write_array(out, np.array(array.shape, np.int64))
    return out.getvalue()


def _pack_text(out: io.BytesIO, array: np.ndarray) -> None:
    flat = [bytes(part) for part in array.reshape(-1).tolist()]
    out.write(b"T")
    np.lib.format.write_array(out, np.array(array.shape, np.int64))
    np.lib.format.write_array(out, np.array([len(part) for part in flat], np.int64))
    out.write(b"".join(flat))


def _unpacked(record: bytes) -> list[Any]:
    source, parts = io.BytesIO(record), []
    while kind := source.read(1):
        if kind == b"T":
            shape = np.lib.format.read_array(source)
            sizes = np.lib.format.read_array(source)
            flat = np.empty(len(sizes), object)
            flat[:] = [source.read(int(size)) for size in sizes]
            parts.append(flat.reshape(shape) if len(shape) else flat[0])
        else:
            name = source.read(source.read(1)[0]).decode()
            raw = np.lib.format.read_array(source)
            shape = np.lib.format.read_array(source)
            parts.append(raw.view(_dtype(name)).reshape(shape).copy()[()])
    return parts


def _dtype(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, None) or name)
