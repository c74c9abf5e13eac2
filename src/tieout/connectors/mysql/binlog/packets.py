"""The packets of a dump, whole, as fast as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any

from tieout.connectors.mysql.errors import SERVER_LOST

_READ_BYTES = 1 << 18
_HEADER = 4
_FULL = 0xFFFFFF
"""The length of a packet that goes on in the next one."""
_EVENT, _END, _ERROR = 0x00, 0xFE, 0xFF

_length_of = Struct("<I").unpack_from


def packets(connection: Any) -> Iterator[bytes]:
    """What the server sends in answer to a dump: events behind a zero byte, until it has no more.

    Raises pymysql's error if the server sends one.
    """
    from pymysql.err import raise_mysql_exception

    begun: list[bytes] = []
    for packet in _pieces(connection._rfile):
        if begun or len(packet) == _FULL:
            begun.append(packet)
            if len(packet) == _FULL:
                continue
            packet, begun = b"".join(begun), []
        if packet[0] == _EVENT:
            yield packet
        elif packet[0] == _ERROR:
            raise_mysql_exception(packet)
        elif packet[0] == _END:
            return


def _pieces(file: Any) -> Iterator[bytes]:
    """Packets without their headers."""
    buffer, at = b"", 0
    while True:
        room = len(buffer) - _HEADER
        while at <= room:
            end = at + (_length_of(buffer, at)[0] & _FULL)
            if end > room:
                break
            yield buffer[at + _HEADER : end + _HEADER]
            at = end + _HEADER
        missing = _HEADER + (_length_of(buffer, at)[0] & _FULL) - (len(buffer) - at) if at <= room else _HEADER
        buffer, at = buffer[at:] + _more(file, missing), 0


def _more(file: Any, missing: int) -> bytes:
    """At least one byte; of a packet that is longer than a read, all that is missing."""
    from pymysql.err import OperationalError

    data: bytes = file.read(missing) if missing > _READ_BYTES else file.read1(_READ_BYTES)
    if not data:
        raise OperationalError(SERVER_LOST, "the server closed the connection in the middle of its log")
    return data
