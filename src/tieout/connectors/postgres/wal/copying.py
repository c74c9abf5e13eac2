"""COPY … TO STDOUT (FORMAT binary): rows of one column, without what stands before and behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tieout.connectors.postgres.copy_out import copied_rows

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"


def copied(connection: Any, statement: bytes) -> Iterator[list[memoryview]]:
    """The rows as they are sent, many at a time."""
    first = True
    for rows in copied_rows(connection, statement):
        if first:
            # The header comes with the first row, or with the trailer.
            rows[0] = rows[0][len(HEADER) :]
            first = False
        if rows[-1] == _TRAILER:
            rows.pop()
        if rows:
            yield rows
