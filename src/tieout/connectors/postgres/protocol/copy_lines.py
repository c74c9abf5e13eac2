"""Reads the lines of COPY … TO STDOUT straight from the socket. It is the connection's last statement.

The server sends a message for each row, and libpq hands out each of them by itself. That is four times the work done
here, where only the five bytes before each row are removed from what was received. libpq does not know about it, so the
connection is unusable afterwards. Through TLS, libpq has to do it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from struct import Struct
from typing import Any

import numpy as np

from tieout.connectors.postgres.protocol.copy_out import copied_rows

_RECEIVE, _BLOCK = 1 << 20, 1 << 18
_READY_BEGINS, _READY_BYTES = b"Z\0\0\0\5", 6
_HEADER = 5
_ROW, _ERROR, _READY = b"d"[0], b"E"[0], b"Z"[0]

_length_of = Struct(">xI").unpack_from


def copied_lines(connection: Any, statement: bytes) -> Iterator[bytes]:
    """Yields blocks of whole lines. The caller has to close the connection then."""
    if connection.pgconn.ssl_in_use:
        for rows in copied_rows(connection, statement):
            yield b"".join(rows)
        return
    _send(connection.pgconn, statement)
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as stream:
        # The mode belongs to the file, which libpq shares; libpq no longer reads from it.
        stream.setblocking(True)
        yield from _lines(stream)


def _send(pgconn: Any, statement: bytes) -> None:
    pgconn.send_query(statement)
    while pgconn.flush():
        pass  # a statement fits into the socket's buffer unless the server does not read


def _lines(stream: socket.socket) -> Iterator[bytes]:
    from psycopg import OperationalError

    received, room = bytearray(), memoryview(bytearray(_RECEIVE))
    while True:
        size = stream.recv_into(room)
        if not size:
            raise OperationalError("server closed the connection unexpectedly")
        received += room[:size]
        if len(received) < _BLOCK and received[-_READY_BYTES:-1] != _READY_BEGINS:
            continue  # the last message of all is short, and nothing follows it
        starts, end = _messages(received)
        if not starts:
            continue
        block, kinds = _rows(received[:end], np.array(starts))
        del received[:end]
        if block:
            yield block
        if kinds[-1] == _READY:
            return


def _messages(received: bytearray) -> tuple[list[int], int]:
    """The offsets at which whole messages begin, and the end of the last one."""
    starts, at, size = [], 0, len(received)
    while at + _HEADER <= size:
        end = at + 1 + _length_of(received, at)[0]
        if end > size:
            break
        starts.append(at)
        at = end
    return starts, at


def _rows(messages: bytearray, starts: Any) -> tuple[bytes, Any]:
    """The rows among the messages, without their headers, and the kind of each message."""
    octets = np.frombuffer(messages, dtype=np.uint8)
    kinds = octets[starts]
    keep = np.ones(len(octets), dtype=bool)
    for byte in range(_HEADER):
        keep[starts + byte] = False
    ends = np.append(starts[1:], len(octets))
    for other in np.flatnonzero(kinds != _ROW):
        if kinds[other] == _ERROR:
            raise _error(bytes(messages[starts[other] + _HEADER : ends[other]]))
        keep[starts[other] : ends[other]] = False
    return octets[keep].tobytes(), kinds


def _error(fields: bytes) -> Exception:
    """The exception that psycopg would raise for an ErrorResponse."""
    from psycopg import OperationalError, errors

    details = {field[:1]: field[1:].decode(errors="replace") for field in fields.split(b"\0") if field}
    try:
        return errors.lookup(details.get(b"C", ""))(details.get(b"M", ""))
    except KeyError:
        return OperationalError(details.get(b"M", "unknown error"))
