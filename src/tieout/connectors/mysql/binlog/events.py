"""The events of a dump, and the places they end at."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from tieout.connectors.mysql.binlog.kinds import FORMAT, IGNORABLE, ROTATE, TOLD

Event = tuple[int, int, int, int, bytes]
"""Kind, seconds since 1970, the server that first wrote it, where it ends in its file, and its body."""

HEADER = 19
_header_of = Struct("<IBIIIH").unpack_from
_ARTIFICIAL, _IGNORABLE = 0x20, 0x80
_CHECKSUM = 4
_OFFSETS = 1 << 32


class EventStream:
    """The events in the packets of a dump. `file` is the one that the last event ended in.

    A rotation ends where the next file begins: at its offset 4. That is the place where the file before it ended.
    """

    def __init__(self, packets: Iterator[bytes], checksums: bool) -> None:
        """`checksums`: whether the first event, which no format goes before, has one."""
        self.file = ""
        self._packets = packets
        self._trailer = _CHECKSUM if checksums else 0
        self._offset = 0

    def __iter__(self) -> Iterator[Event]:
        for packet in self._packets:
            when, kind, server, _, end, flags = _header_of(packet, 1)
            if kind == FORMAT:
                # Its own checksum is always there; what goes before it says whether the others have one.
                self._trailer = _CHECKSUM if packet[-5] == 1 else 0
                body = packet[1 + HEADER : -5]
            else:
                body = packet[1 + HEADER : len(packet) - self._trailer]
            if kind == ROTATE:
                self._offset = int.from_bytes(body[:8], "little")
                self.file = body[8:].decode()
            elif end and not flags & _ARTIFICIAL:
                self._offset = _reached(self._offset, end)
            if flags & _IGNORABLE and kind not in TOLD:
                kind = IGNORABLE
            yield kind, when, server, self._offset, body


def _reached(before: int, end: int) -> int:
    """The offset whose last 32 bits are `end`: a log has no more room for it, and a file may be longer."""
    offset = before - before % _OFFSETS + end
    return offset if offset >= before else offset + _OFFSETS
