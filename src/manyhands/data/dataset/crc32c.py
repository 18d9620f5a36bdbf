"""CRC-32C (Castagnoli), as TFRecord files use it, on NumPy.

In: bytes.  Out: the checksum.  A checksum is linear, so each byte's part is looked up by its
distance from the end and all parts are combined at once; long data is cut into blocks.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_BLOCK = 512
_SHORT = 16
"""Up to here a loop is faster than asking NumPy."""
_POLYNOMIAL = 0x82F63B78


def crc32c(data: bytes) -> int:
    """Compute the checksum of some bytes."""
    parts, starts, shift = _tables()
    if len(data) <= _SHORT:
        return _short(data, _steps())
    view = np.frombuffer(data, np.uint8)
    head = len(view) % _BLOCK
    state = int(starts[head]) ^ _combined(parts[_BLOCK - head :], view[:head])
    if len(view) >= _BLOCK:
        blocks = view[head:].reshape(-1, _BLOCK)
        places = np.arange(_BLOCK)
        for start in range(0, len(blocks), 256):
            found = parts[places, blocks[start : start + 256]]
            for part in np.bitwise_xor.reduce(found, axis=1).tolist():
                state = _shifted(state, shift) ^ part
    return state ^ 0xFFFFFFFF


def _short(data: bytes, steps: list[int]) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state = state >> 8 ^ steps[(state ^ byte) & 255]
    return state ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """Compute the checksum as TFRecord stores it: turned and offset."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _combined(parts: np.ndarray, view: np.ndarray) -> int:
    if not len(view):
        return 0
    return int(np.bitwise_xor.reduce(parts[np.arange(len(view)), view]))


def _shifted(state: int, shift: list[list[int]]) -> int:
    return (
        shift[0][state & 255]
        ^ shift[1][state >> 8 & 255]
        ^ shift[2][state >> 16 & 255]
        ^ shift[3][state >> 24]
    )


@cache
def _steps() -> list[int]:
    return _tables()[0][-1].tolist()


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """By distance and byte: its part; by length: where the start value goes; a block's shift."""
    step = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        step = np.where(step & 1, step >> 1 ^ np.uint32(_POLYNOMIAL), step >> 1)
    parts = np.empty((_BLOCK, 256), np.uint32)
    parts[-1] = step
    for place in range(_BLOCK - 2, -1, -1):
        parts[place] = _advance(parts[place + 1], step)
    starts = np.empty(_BLOCK + 1, np.uint32)
    starts[0] = 0xFFFFFFFF
    for length in range(_BLOCK):
        starts[length + 1] = _advance(starts[length : length + 1], step)[0]
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(_BLOCK):
        bits = _advance(bits, step)
    shift = []
    for byte in range(4):
        table = np.zeros(256, np.uint32)
        for bit in range(8):
            chosen = np.arange(256) >> bit & 1 == 1
            table[chosen] ^= bits[8 * byte + bit]
        shift.append(table.tolist())
    return parts, starts, shift


def _advance(state: np.ndarray, step: np.ndarray) -> np.ndarray:
    return state >> np.uint32(8) ^ step[state & np.uint32(255)]
