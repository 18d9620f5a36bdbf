"""tf.train.Example, without protobuf: the same classes, the same bytes.

In: lists of bytes, floats or whole numbers by name.  Out: the wire format, and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from manyhands.data.dataset.wire import bytes_field, varint
from manyhands.errors import DataError, explain

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _Values:
    """One list of values."""

    number = 0

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self.value: list[Any] = list(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Values) and (self.number, self.value) == (
            other.number,
            other.value,
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class BytesList(_Values):
    """A list of bytes."""

    number = 1

    def __init__(self, value: Iterable[Any] = ()) -> None:
        super().__init__(v if isinstance(v, bytes) else _bytes(v) for v in value)

    def encode(self) -> bytes:
        """Write the list."""
        return b"".join(bytes_field(1, value) for value in self.value)


class FloatList(_Values):
    """A list of 32-bit floats."""

    number = 2

    def __init__(self, value: Iterable[Any] = ()) -> None:
        super().__init__(np.asarray(list(value), "<f4").tolist())

    def encode(self) -> bytes:
        """Write the list."""
        return bytes_field(1, np.asarray(self.value, "<f4").tobytes()) if self.value else b""


class Int64List(_Values):
    """A list of whole numbers."""

    number = 3

    def __init__(self, value: Iterable[Any] = ()) -> None:
        super().__init__(int(v) for v in value)

    def encode(self) -> bytes:
        """Write the list."""
        packed = b"".join(varint(value) for value in self.value)
        return bytes_field(1, packed) if self.value else b""


class Feature:
    """One feature: a list of one kind."""

    def __init__(
        self,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        self.bytes_list = bytes_list or BytesList()
        self.float_list = float_list or FloatList()
        self.int64_list = int64_list or Int64List()
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        self._kind = next((name for name, part in given.items() if part is not None), None)

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802 - protobuf's name
        """Name the kind of list it holds."""
        assert group == "kind"
        filled = [k for k in ("bytes_list", "float_list", "int64_list") if getattr(self, k).value]
        return filled[0] if filled else self._kind

    @property
    def values(self) -> list[Any]:
        """The values, of whichever kind."""
        kind = self.WhichOneof("kind")
        return [] if kind is None else getattr(self, kind).value

    def encode(self) -> bytes:
        """Write the feature."""
        kind = self.WhichOneof("kind")
        if kind is None:
            return b""
        held = getattr(self, kind)
        return bytes_field(held.number, held.encode())


class Features:
    """Features by name."""

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        self.feature: dict[str, Feature] = dict(feature or {})

    def encode(self) -> bytes:
        """Write them, sorted by name so that equal examples are equal bytes."""
        return b"".join(
            bytes_field(1, bytes_field(1, name.encode()) + bytes_field(2, feature.encode()))
            for name, feature in sorted(self.feature.items())
        )


class Example:
    """One example: named features."""

    def __init__(self, features: Features | None = None) -> None:
        self.features = features or Features()

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:  # noqa: N802, ARG002
        """Write the example."""
        return bytes_field(1, self.features.encode())

    def ParseFromString(self, data: bytes) -> int:  # noqa: N802 - protobuf's name
        """Read an example into this one."""
        lists = parse_features(data)
        self.features = Features({name: _feature(*held) for name, held in lists.items()})
        return len(data)

    @classmethod
    def FromString(cls, data: bytes) -> Example:  # noqa: N802 - protobuf's name
        """Read an example."""
        made = cls()
        made.ParseFromString(data)
        return made


def parse_features(data: bytes) -> dict[str, tuple[int, Any]]:
    """Read an example's features: by name, the kind's number and a list or array of values."""
    found = {}
    try:
        for number, part in _fields(memoryview(data)):
            for inner, entry in _fields(part) if number == 1 else ():
                if inner == 1:
                    name, value = b"", memoryview(b"")
                    for key, piece in _fields(entry):
                        name, value = (bytes(piece), value) if key == 1 else (name, piece)
                    found[name.decode()] = _values(value)
    except (IndexError, ValueError, TypeError) as error:
        raise DataError(
            explain(
                "A record is not a tf.train.Example.",
                got=f"{len(data)} bytes beginning with {bytes(data[:16])!r} ({error})",
                fix="parse the records with what wrote them.",
            )
        ) from error
    return found


def _values(feature: Any) -> tuple[int, Any]:
    for number, part in _fields(feature):
        pieces = list(_fields(part))
        if number == BytesList.number:
            return number, [bytes(piece) for _, piece in pieces]
        if number == FloatList.number:
            raw = b"".join(bytes(piece) for _, piece in pieces)
            return number, np.frombuffer(raw, "<f4").astype(np.float32, copy=False)
        if number == Int64List.number:
            return number, _integers(pieces)
    return 0, []


def _integers(pieces: list[Any]) -> np.ndarray:
    out: list[int] = []
    for _, piece in pieces:
        if isinstance(piece, int):
            out.append(piece)
            continue
        at = 0
        while at < len(piece):
            value, at = _read_varint(piece, at)
            out.append(value)
    return np.array(out, np.uint64).astype(np.int64)


def _feature(number: int, values: Any) -> Feature:
    if number == BytesList.number:
        return Feature(bytes_list=BytesList(values))
    if number == FloatList.number:
        return Feature(float_list=FloatList(values))
    return Feature(int64_list=Int64List(values)) if number else Feature()


def _fields(data: Any) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        elif kind == _BYTES:
            length, at = _read_varint(data, at)
            value, at = data[at : at + length], at + length
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {kind}")
        if at > len(data):
            raise ValueError("cut short")
        yield tag >> 3, value


def _read_varint(data: Any, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _bytes(value: Any) -> bytes:
    value = value.numpy() if hasattr(value, "numpy") else value
    value = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(value, bytes):
        raise TypeError(f"a BytesList holds bytes, not {type(value).__name__}: encode text first")
    return value
