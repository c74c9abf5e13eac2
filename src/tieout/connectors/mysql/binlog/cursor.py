"""Reading a body from its beginning to its end."""

from __future__ import annotations

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
