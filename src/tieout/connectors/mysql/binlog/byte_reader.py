"""Reading a body from its beginning to its end."""

from __future__ import annotations

import zlib

_WIDER = {0xFC: 2, 0xFD: 3, 0xFE: 8}


class Cursor:
    """A place in bytes that moves behind what was taken. IndexError: there is no more."""

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
        """One of as many bytes as it needs, which the first one tells."""
        first = self.byte()
        return first if first < 0xFB else int.from_bytes(self.take(_WIDER[first]), "little")

    def string(self) -> bytes:
        """Bytes behind their length."""
        return self.take(self.number())

    def numbers(self) -> list[int]:
        """All that are left."""
        found = []
        while self:
            found.append(self.number())
        return found


_RAW = -zlib.MAX_WBITS


def inflated_event(data: bytes) -> bytes:
    """A byte that says how long the length is, the length, and zlib's data."""
    return zlib.decompress(data[1 + (data[0] & 7) :], bufsize=int.from_bytes(data[1 : 1 + (data[0] & 7)], "big") or 1)


def inflated_value(data: bytes) -> bytes:
    """A value of a compressed column: empty, as it is behind a zero, or in zlib's format with or without its header."""
    if not data:
        return data
    method = data[0] >> 4
    if method == 0:
        return data[1:]
    if method != 8:
        raise zlib.error(f"unknown method {method}")
    return zlib.decompress(data[1 + (data[0] & 7) :], _RAW if data[0] & 8 else zlib.MAX_WBITS)
