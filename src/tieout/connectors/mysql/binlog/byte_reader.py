"""Reads the body of an event from start to end, and inflates what MariaDB compresses.

MariaDB compresses events (log_bin_compress) and columns (COMPRESSED).
"""

from __future__ import annotations

import zlib

_WIDER = {0xFC: 2, 0xFD: 3, 0xFE: 8}


class Cursor:
    """Bytes, and how far they have been read. IndexError: there are no more."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise IndexError("no more bytes")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        """A number of variable length, which its first byte tells."""
        first = self.byte()
        return first if first < 0xFB else int.from_bytes(self.take(_WIDER[first]), "little")

    def string(self) -> bytes:
        """Bytes with their length in front."""
        return self.take(self.number())

    def numbers(self) -> list[int]:
        """All remaining numbers."""
        found = []
        while self:
            found.append(self.number())
        return found


_RAW = -zlib.MAX_WBITS


def inflated_event(data: bytes) -> bytes:
    """Inflates an event: a byte that says how long the length is, the length, and zlib's data."""
    return zlib.decompress(data[1 + (data[0] & 7) :], bufsize=int.from_bytes(data[1 : 1 + (data[0] & 7)], "big") or 1)


def inflated_value(data: bytes) -> bytes:
    """Inflates a value of a compressed column: empty, plain after a zero, or zlib's format with or without header."""
    if not data:
        return data
    method = data[0] >> 4
    if method == 0:
        return data[1:]
    if method != 8:
        raise zlib.error(f"unknown method {method}")
    return zlib.decompress(data[1 + (data[0] & 7) :], _RAW if data[0] & 8 else zlib.MAX_WBITS)
