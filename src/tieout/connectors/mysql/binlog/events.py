"""The events of a dump, and the positions where they end."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from zlib import crc32

from tieout.connectors.mysql.binlog.codes import FORMAT, IGNORABLE, ROTATE, TOLD
from tieout.failpoints import reach
from tieout.model.positions import Position

Event = tuple[int, int, int, int, bytes]
"""Kind, seconds since 1970, the server that first wrote it, the offset in its file where it ends, and its body."""

HEADER = 19
_header_of = Struct("<IBIIIH").unpack_from
_ARTIFICIAL, _IGNORABLE = 0x20, 0x80
_CHECKSUM = 4
_OFFSETS = 1 << 32


class EventStream:
    """The events in the packets of a dump. `file` and `offset` are where the last event ended.

    A rotation ends where the next file starts: at its offset 4. `log` distinguishes the file from others of its name:
    the id of the server that wrote it, and when it was started.
    """

    def __init__(self, packets: Iterator[bytes], checksums: bool) -> None:
        """`checksums`: whether the first event, which precedes the format event, has a checksum."""
        self.file = ""
        self.log = ""
        self._last: tuple[int, bytes] | None = None
        self._before_last: tuple[int, bytes] | None = None
        self._format = False
        self._packets = packets
        self._trailer = _CHECKSUM if checksums else 0
        self.offset = 0

    def __iter__(self) -> Iterator[Event]:
        for packet in self._packets:
            when, kind, server, size, end, flags = _header_of(packet, 1)
            if kind == FORMAT:
                self.log = f"{server}.{when}"
                # It always has a checksum itself; the byte before that says whether the others have one.
                self._trailer = _CHECKSUM if packet[-5] == 1 else 0
                body = packet[1 + HEADER : -5]
            else:
                body = packet[1 + HEADER : len(packet) - self._trailer]
            if kind == ROTATE:
                self.offset = int.from_bytes(body[:8], "little")
                self.file = body[8:].decode()
                self._last = self._before_last = None
                if not flags & _ARTIFICIAL:
                    reach("log-rotation")
            elif end and not flags & _ARTIFICIAL:
                self.offset = _reached(self.offset, end)
                # A format event proves nothing: the server changes it when it closes the file.
                self._before_last = None if self._format else self._last
                self._last = self.offset - size, packet
                self._format = kind == FORMAT
            if flags & _IGNORABLE and kind not in TOLD:
                kind = IGNORABLE
            yield kind, when, server, self.offset, body

    def at(self, offset: int) -> Position:
        """A position in the file."""
        return Position(f"{self.file}:{offset}#{self.log}" if self.log else f"{self.file}:{offset}")

    @property
    def tail(self) -> str:
        """Where the last two events start, and their checksum; "" if the file has none yet.

        Two, because the last one only says that a transaction ends: a server that was restored from an earlier copy may
        write the same one again. The event before it has rows. A position of an older version has only the last one.
        """
        if self._last is None:
            return ""
        begin, packet = self._last
        checksum = 0
        if self._before_last is not None:
            begin, before = self._before_last
            checksum = crc32(before[1 : len(before) - self._trailer])
        return f"{begin}.{crc32(packet[1 : len(packet) - self._trailer], checksum):08x}"


def _reached(before: int, end: int) -> int:
    """The offset whose last 32 bits are `end`: an event has no more room for it, and a file may be longer."""
    offset = before - before % _OFFSETS + end
    return offset if offset >= before else offset + _OFFSETS
