"""The packets of a result's rows, as a MySQL server sends them, in large pieces.

pymysql connects and sends the question; taken apart by it, packet by packet, the answer would take longer
to read than to make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from tieout.connectors.mysql.errors import SERVER_LOST

PIECE_BYTES = 4 << 20
HEADER = 4
FULL = 0xFFFFFF
"""The length of a packet that goes on in the next one."""
_READ_BYTES = 1 << 18
_ERROR = 0xFF

_length_of = Struct("<I").unpack_from

Places = npt.NDArray[np.int64]
IsRow = Callable[[int, int], bool]
"""Whether a packet is a row: by its first byte and its length. Only the last one of a result is none."""


def skip_definitions(connection: Any, definitions: int) -> None:
    """Passes over definitions and the mark behind them; there is none behind nothing."""
    for _ in range(definitions + 1 if definitions else 0):
        connection._read_packet()


def row_packets(connection: Any, is_row: IsRow) -> Iterator[tuple[bytearray, Places]]:
    """Pieces of the answer that hold whole rows, and where in each its packets begin."""
    from pymysql.err import OperationalError, raise_mysql_exception

    buffer, at = bytearray(), 0
    packets: list[int] = []
    while True:
        data = connection._rfile.read1(_READ_BYTES)
        if not data:
            raise OperationalError(SERVER_LOST, "the server closed the connection in the middle of its rows")
        buffer += data
        room = len(buffer) - HEADER
        while at <= room:
            end = at + (_length_of(buffer, at)[0] & FULL)
            if end > room:
                break
            packets.append(at)
            at = end + HEADER
        if not packets or at - packets[-1] == HEADER + FULL:
            continue  # what is there of a row is not all of it
        # Only the last packet of all is no row: after it the server is silent.
        begins = len(packets) == 1 or packets[-1] - packets[-2] != HEADER + FULL
        ended = begins and not is_row(buffer[packets[-1] + HEADER], at - packets[-1] - HEADER)
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
    """Where rows begin, and where the last one ends: a row may go on in the next packet."""
    goes_on = np.diff(packets) == HEADER + FULL
    return np.append(packets[np.concatenate(([True], ~goes_on))], size)
