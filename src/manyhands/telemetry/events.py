"""TensorBoard's event files, written without TensorFlow.

In: scalars, histograms, pictures and texts with a tag and a step.  Out: a file that TensorBoard
shows.  Each record is a protobuf message (field numbers from TensorBoard's event.proto and
summary.proto) in the framing of TFRecord files.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
import zlib
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.data.dataset.records import write_record
from manyhands.data.dataset.wire import bytes_field, number_field, varint

_SCALAR, _TENSOR, _PICTURES = 1, 2, 3
_FLOAT, _DOUBLE, _STRING = 1, 2, 7
_numbers = count()


class EventWriter:
    """Writes one event file; safe to use from several threads."""

    def __init__(self, logdir: Any, filename_suffix: str = "") -> None:
        folder = Path(os.fspath(logdir))
        folder.mkdir(parents=True, exist_ok=True)
        name = (
            f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}"
            f".{os.getpid()}.{next(_numbers)}.v2{filename_suffix}"
        )
        self.path = folder / name
        self._lock = threading.Lock()
        self._file = open(self.path, "ab")  # noqa: SIM115 - closed by close
        self._write(_double(1, time.time()) + bytes_field(3, b"brain.Event:2"))

    def scalar(self, tag: str, value: Any, step: int) -> None:
        """Write one number."""
        number = np.asarray(value, np.float32).reshape(())
        self._value(tag, step, "scalars", _SCALAR, _tensor(_FLOAT, (), number.tobytes()))

    def histogram(self, tag: str, values: Any, step: int, buckets: int = 30) -> None:
        """Write how values are spread."""
        table = histogram_of(np.asarray(values, np.float64).ravel(), buckets)
        self._value(
            tag, step, "histograms", _TENSOR, _tensor(_DOUBLE, table.shape, table.tobytes())
        )

    def pictures(self, tag: str, pixels: Any, step: int, most: int = 3) -> None:
        """Write pictures: [count, rows, columns, channels], 0 to 1 or whole numbers to 255."""
        pixels = as_bytes(np.asarray(pixels))
        size = [str(pixels.shape[2]).encode(), str(pixels.shape[1]).encode()]
        parts = size + [png(picture) for picture in pixels[:most]]
        self._value(tag, step, "images", _PICTURES, _strings(parts))

    def text(self, tag: str, text: Any, step: int) -> None:
        """Write a text, or several."""
        parts = [str(one).encode() for one in np.ravel(np.asarray(text, dtype=object))]
        self._value(tag, step, "text", _TENSOR, _strings(parts))

    def flush(self) -> None:
        """Put everything on the disk."""
        with self._lock:
            if not self._file.closed:
                self._file.flush()

    def close(self) -> None:
        """Write no more."""
        with self._lock:
            self._file.close()

    def __del__(self) -> None:
        try:
            self._file.close()
        except Exception:  # at exit, on a full disk, or not quite made: nobody can act
            pass

    def _value(self, tag: str, step: int, plugin: str, kind: int, tensor: bytes) -> None:
        metadata = bytes_field(1, bytes_field(1, plugin.encode())) + number_field(4, kind)
        value = bytes_field(1, tag.encode()) + bytes_field(8, tensor) + bytes_field(9, metadata)
        event = _double(1, time.time()) + number_field(2, int(step))
        self._write(event + bytes_field(5, bytes_field(1, value)))

    def _write(self, record: bytes) -> None:
        with self._lock:
            if self._file.closed:
                raise ValueError(f"The event file {self.path} is closed.")
            write_record(self._file, record)


def histogram_of(values: np.ndarray, buckets: int) -> np.ndarray:
    """Count values by bucket: one row of left edge, right edge and count each."""
    if not values.size:
        return np.zeros((0, 3))
    low, high = values.min(), values.max()
    if low == high:
        return np.array([[low - 0.5, high + 0.5, float(values.size)]])
    counts, edges = np.histogram(values, buckets, (low, high))
    return np.stack([edges[:-1], edges[1:], counts.astype(np.float64)], 1)


def as_bytes(pixels: np.ndarray) -> np.ndarray:
    """Give pixels as whole numbers to 255."""
    if pixels.dtype.kind == "f":
        pixels = np.clip(pixels, 0, 1) * 255 + 0.5
    return pixels.astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    """Encode one picture of 1, 2, 3 or 4 channels."""
    rows, columns, channels = pixels.shape
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    lines = np.zeros((rows, columns * channels + 1), np.uint8)
    lines[:, 1:] = pixels.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def _tensor(kind: int, shape: Sequence[int], content: bytes) -> bytes:
    dims = b"".join(bytes_field(2, number_field(1, dim)) for dim in shape)
    return number_field(1, kind) + bytes_field(2, dims) + bytes_field(4, content)


def _strings(parts: list[bytes]) -> bytes:
    shape = bytes_field(2, bytes_field(2, number_field(1, len(parts))))
    return number_field(1, _STRING) + shape + b"".join(bytes_field(8, part) for part in parts)
