"""Splits what a MySQL server sends into packets: rows in large pieces, events of its log one by one.

pymysql connects and sends the command; parsed by pymysql, packet by packet, the answer would take longer
to read than the server takes to produce it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from tieout.connectors.mysql.errors import SERVER_LOST

PIECE_BYTES = 4 << 20
HEADER = 4
FULL = 0xFFFFFF
"""The length of a packet that continues in the next one."""
_READ_BYTES = 1 << 18
_EVENT, _END, _ERROR = 0x00, 0xFE, 0xFF

_length_of = Struct("<I").unpack_from

Places = npt.NDArray[np.int64]
IsRow = Callable[[int, int], bool]
"""Whether a packet is a row, by its first byte and its length. Only the last packet of a result is not."""


def skip_definitions(connection: Any, definitions: int) -> None:
    """Reads past column definitions and the packet that ends them; without definitions there is no such packet."""
    for _ in range(definitions + 1 if definitions else 0):
        connection._read_packet()


def row_packets(connection: Any, is_row: IsRow) -> Iterator[tuple[bytearray, Places]]:
    """Pieces of the answer that hold whole rows, and where the packets of each piece start."""
    from pymysql.err import raise_mysql_exception

    buffer, at = bytearray(), 0
    packets: list[int] = []
    while True:
        buffer += _read(connection._rfile, 0, "rows")
        at = _whole_packets(buffer, at, packets)
        if not packets or at - packets[-1] == HEADER + FULL:
            continue  # the rest of this row is still to come
        # Only the very last packet is not a row: after it the server is silent.
        starts = len(packets) == 1 or packets[-1] - packets[-2] != HEADER + FULL
        ended = starts and not is_row(buffer[packets[-1] + HEADER], at - packets[-1] - HEADER)
        if ended:
            last = packets.pop()
            if buffer[last + HEADER] == _ERROR:
                raise_mysql_exception(bytes(buffer[last + HEADER : at]))
            at = last
        if packets and (ended or at >= PIECE_BYTES):
            yield buffer[:at], np.array(packets)
            del buffer[:at]
            at, packets = 0, []
        if ended:
            return


def rows_of(packets: Places, size: int) -> Places:
    """Where rows start, and where the last one ends: a row may continue in the next packet."""
    continues = np.diff(packets) == HEADER + FULL
    return np.append(packets[np.concatenate(([True], ~continues))], size)


def log_packets(connection: Any) -> Iterator[bytes]:
    """The server's answer to COM_BINLOG_DUMP: events behind a zero byte, until there are no more.

    Raises pymysql's error if the server sends one.
    """
    from pymysql.err import raise_mysql_exception

    parts: list[bytes] = []
    for packet in _payloads(connection._rfile):
        if parts or len(packet) == FULL:
            parts.append(packet)
            if len(packet) == FULL:
                continue
            packet, parts = b"".join(parts), []
        if packet[0] == _EVENT:
            yield packet
        elif packet[0] == _ERROR:
            raise_mysql_exception(packet)
        elif packet[0] == _END:
            return


def _payloads(file: Any) -> Iterator[bytes]:
    """Packets without their headers, as soon as they are complete."""
    buffer = b""
    while True:
        starts: list[int] = []
        at = _whole_packets(buffer, 0, starts)
        starts.append(at)
        for start, end in pairwise(starts):
            yield buffer[start + HEADER : end]
        rest = len(buffer) - at
        missing = HEADER + (_length_of(buffer, at)[0] & FULL) - rest if rest >= HEADER else HEADER
        buffer = buffer[at:] + _read(file, missing, "log")


def _whole_packets(buffer: bytes | bytearray, at: int, starts: list[int]) -> int:
    """Adds where each complete packet from `at` on starts; returns where the first incomplete one does."""
    room = len(buffer) - HEADER
    while at <= room:
        end = at + (_length_of(buffer, at)[0] & FULL)
        if end > room:
            break
        starts.append(at)
        at = end + HEADER
    return at


def _read(file: Any, missing: int, what: str) -> bytes:
    """At least one byte; all that is missing of a packet that is longer than one read."""
    from pymysql.err import OperationalError

    data: bytes = file.read(missing) if missing > _READ_BYTES else file.read1(_READ_BYTES)
    if not data:
        raise OperationalError(SERVER_LOST, f"the server closed the connection in the middle of its {what}")
    return data
