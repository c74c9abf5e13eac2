"""Values that PostgreSQL compressed within a tuple, by either of its methods."""

from __future__ import annotations

import pyarrow as pa

_PGLZ, _LZ4 = 0, 1
_LONG_MATCH = 18
_GREATEST_RATIO = 256


def decompressed(data: bytes) -> bytes:
    """A value from what follows its length: its size and method in four bytes, then the rest. ValueError if garbled."""
    info = int.from_bytes(data[:4], "little")
    size, method = info & 0x3FFFFFFF, info >> 30
    if size > _GREATEST_RATIO * len(data):
        raise ValueError("compressed data is garbled")
    if method == _LZ4:
        return _lz4(data[4:], size)
    if method != _PGLZ:
        raise ValueError("compressed by an unknown method")
    return _pglz(data[4:], size)


def _lz4(data: bytes, size: int) -> bytes:
    try:
        return bytes(pa.Codec("lz4_raw").decompress(data, size, asbytes=True))
    except (OSError, pa.ArrowException) as error:
        raise ValueError(str(error)) from None


def _pglz(data: bytes, size: int) -> bytes:
    """A byte of eight flags says what follows: bytes as they are, or references to what came before."""
    result = bytearray()
    at = 0
    while at < len(data) and len(result) < size:
        flags, at = data[at], at + 1
        for bit in range(8):
            if at >= len(data) or len(result) >= size:
                break
            if flags >> bit & 1:
                at = _repeat(result, data, at)
            else:
                result.append(data[at])
                at += 1
    if len(result) != size or at != len(data):
        raise ValueError("compressed data is garbled")
    return bytes(result)


def _repeat(result: bytearray, data: bytes, at: int) -> int:
    """Appends what the reference at `at` stands for. It may reach into what it appends itself."""
    head = data[at : at + 3]
    if len(head) < 2:
        raise ValueError("compressed data is garbled")
    length, back = (head[0] & 0x0F) + 3, (head[0] & 0xF0) << 4 | head[1]
    at += 2
    if length == _LONG_MATCH:
        length, at = length + (head[2] if len(head) > 2 else 0), at + 1
    if not 0 < back <= len(result):
        raise ValueError("compressed data is garbled")
    begin = len(result) - back
    pattern = result[begin : begin + length]
    result += (pattern * (length // back + 1))[:length]
    return at
