"""The few pieces of protobuf's wire format that records and event files are made of."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """Write a whole number, seven bits a byte; a negative one as its 64-bit complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    """Write a field that holds a whole number."""
    return varint(number << 3) + varint(value)


def bytes_field(number: int, data: bytes) -> bytes:
    """Write a field that holds bytes, or another message."""
    return varint(number << 3 | 2) + varint(len(data)) + data
