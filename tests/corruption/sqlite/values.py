"""Values that can't be read any more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.corruption.errors import NotDone
from tests.corruption.sqlite.session import change, unguarded

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase

_NOWHERE = b"\xff\xff\xff\xf0"


def lost_pages(database: SqliteDatabase, table: str, column: str, where: str) -> None:
    """The rows have a long text in the column, whose first page leads to a next one that the file does not have."""
    with unguarded(database) as connection:
        change(connection, table, {column: "lost " * 4000}, where)
        ((size,),) = connection.execute("PRAGMA page_size")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((_, _, path),) = connection.execute("PRAGMA database_list")
    data = bytearray(Path(path).read_bytes())
    pages = [place for place in range(0, len(data), size) if _is_full_of_it(data[place + 4 : place + size])]
    if not pages:
        raise NotDone(f"nothing of {column} is outside of its row")
    for place in pages:
        data[place : place + 4] = _NOWHERE
    Path(path).write_bytes(data)


def _is_full_of_it(page: bytes) -> bool:
    return page in b"lost " * (len(page) // 5 + 2)
