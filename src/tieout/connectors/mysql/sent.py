"""Rows as a MySQL server sends them: the packets of its binary protocol, not taken apart.

A row's packet is a NULL bitmap and the values in forms that follow from their types alone. Two servers that
send the same columns of the same types send the same bytes for the same row, and only for it, so a digest
needs no more: less than half the work of a decoder. pymysql connects; what it does not speak is the
binary protocol, which leaves numbers as they are instead of printing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.session import connect

_BATCH_BYTES = 4 << 20
_READ_BYTES = 1 << 18
_HEADER = 4
_FULL = 0xFFFFFF
"""The length of a packet that goes on in the next one."""
_ROW, _ERROR = 0x00, 0xFF

_length_of = Struct("<I").unpack_from


def sent_rows(url: EndpointUrl, statement: str) -> Iterator[pa.Array]:
    """The packets of a query's rows, one for each row, in arrays of bytes."""
    with translated(url), closing(connect(url)) as connection:
        _execute(connection, statement)
        yield from _rows(connection)


def _execute(connection: Any, statement: str) -> None:
    """Prepares and executes; what follows on the connection are the rows."""
    from pymysql.constants.COMMAND import COM_STMT_EXECUTE, COM_STMT_PREPARE

    connection._execute_command(COM_STMT_PREPARE, statement)
    prepared = connection._read_packet().get_all_data()
    columns, parameters = (int.from_bytes(prepared[at : at + 2], "little") for at in (5, 7))
    for count in (parameters, columns):
        _skip(connection, count)
    no_cursor, once = b"\0", (1).to_bytes(4, "little")
    connection._execute_command(COM_STMT_EXECUTE, prepared[1:5] + no_cursor + once)
    _skip(connection, connection._read_packet().read_length_encoded_integer())


def _skip(connection: Any, definitions: int) -> None:
    """Passes over definitions and the mark behind them; there is none behind nothing."""
    for _ in range(definitions + 1 if definitions else 0):
        connection._read_packet()


def _rows(connection: Any) -> Iterator[pa.Array]:
    from pymysql.err import OperationalError, raise_mysql_exception

    buffer, at = bytearray(), 0
    packets: list[int] = []
    while True:
        data = connection._rfile.read1(_READ_BYTES)
        if not data:
            raise OperationalError(2013, "the server closed the connection in the middle of its rows")
        buffer += data
        room = len(buffer) - _HEADER
        while at <= room:
            end = at + (_length_of(buffer, at)[0] & _FULL)
            if end > room:
                break
            packets.append(at)
            at = end + _HEADER
        if not packets or at - packets[-1] == _HEADER + _FULL:
            continue  # what is there of a row is not all of it
        # Only the last packet of all begins otherwise: after it the server is silent.
        begins = len(packets) == 1 or packets[-1] - packets[-2] != _HEADER + _FULL
        ended = begins and buffer[packets[-1] + _HEADER] != _ROW
        if ended:
            last = packets.pop()
            if buffer[last + _HEADER] == _ERROR:
                raise_mysql_exception(bytes(buffer[last + _HEADER : at]))
            at = last
        if packets and (ended or at >= _BATCH_BYTES):
            yield _array(buffer[:at], np.array(packets))
            del buffer[:at]
            at, packets = 0, []
        if ended:
            return


def _array(data: bytearray, packets: npt.NDArray[np.int64]) -> pa.Array:
    # The fourth byte of a header counts packets, and tells nothing of the row.
    np.frombuffer(data, dtype=np.uint8)[packets + 3] = 0
    goes_on = np.diff(packets) == _HEADER + _FULL
    rows = packets[np.concatenate(([True], ~goes_on))]
    ends = np.append(rows, len(data))
    return pa.Array.from_buffers(pa.large_binary(), len(rows), [None, pa.py_buffer(ends), pa.py_buffer(data)])
