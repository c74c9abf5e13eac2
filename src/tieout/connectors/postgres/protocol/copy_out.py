"""Reads COPY … TO STDOUT, many rows at a time.

psycopg's own reader waits for each row separately, which takes longer than sending it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg.abc import PQGen

ROWS = 2_000
BYTES = 1 << 20

_BINARY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_BINARY_TRAILER = b"\xff\xff"


def copied_rows(connection: Any, statement: bytes) -> Iterator[list[memoryview]]:
    """Yields the rows as the server sends them, ROWS or BYTES at a time. After the last the connection is usable again.

    "Messages sent from the backend will always correspond to single data rows" (PostgreSQL, Message Formats).
    """
    _start(connection, statement)
    last = False
    while not last:
        rows, last = connection.wait(_take(connection.pgconn))
        if rows:
            yield rows
    _finish(connection)


def copied_values(connection: Any, statement: bytes) -> Iterator[list[memoryview]]:
    """Yields the rows of a COPY … TO STDOUT (FORMAT binary) with one column, without header and trailer."""
    first = True
    for rows in copied_rows(connection, statement):
        if first:
            # The header comes with the first row, or with the trailer.
            rows[0] = rows[0][len(_BINARY_HEADER) :]
            first = False
        if rows[-1] == _BINARY_TRAILER:
            rows.pop()
        if rows:
            yield rows


def _start(connection: Any, statement: bytes) -> None:
    from psycopg.generators import execute
    from psycopg.pq import ExecStatus

    connection.pgconn.send_query(statement)
    _raise_unless(ExecStatus.COPY_OUT, connection.wait(execute(connection.pgconn)))


def _take(pgconn: Any) -> PQGen[tuple[list[memoryview], bool]]:
    """Returns rows, and True if they are the last ones."""
    from psycopg.waiting import Wait

    rows: list[memoryview] = []
    bytes_left, next_row = BYTES, pgconn.get_copy_data
    while bytes_left > 0 and len(rows) < ROWS:
        length, row = next_row(1)
        if length > 0:
            rows.append(row)
            bytes_left -= length
        elif length == 0:
            # Even if the wait timed out and the socket is not ready: TLS may have read ahead.
            yield Wait.R
            pgconn.consume_input()
        else:
            return rows, True
    return rows, False


def _finish(connection: Any) -> None:
    from psycopg.generators import fetch_many
    from psycopg.pq import ExecStatus

    _raise_unless(ExecStatus.COMMAND_OK, connection.wait(fetch_many(connection.pgconn)))


def _raise_unless(wanted: Any, results: list[Any]) -> None:
    from psycopg.errors import error_from_result

    for result in results:
        if result.status != wanted:
            raise error_from_result(result)
