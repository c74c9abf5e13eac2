"""The tables that captured changes are kept in, and who reads them.

A position is the number of the last change that lies before it. SQLite has one writer at a time, so a reader that looks
for the last number sees that of a transaction that has ended, and never one inside of a transaction.

A file that is put back to an earlier copy gives out numbers a second time. So a position also has the last change's
checksum, and what was drawn when the capture began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol
from zlib import crc32

from tieout.connectors.sql.internal_tables import CAPTURE, PREFIX
from tieout.connectors.sqlite import quoting
from tieout.model.positions import Position

TABLES = tuple(f"{PREFIX}{name}" for name in CAPTURE)
CHANGES, SHAPES, READERS, WANTED, REPLACED, SEEN, LOG = TABLES

# Columns without a type keep a value as it is, its class included. No AUTOINCREMENT: it would leave a table of SQLite's
# own behind. The last change is never forgotten instead, so no number is given out twice.
_CREATE = (
    f"{CHANGES} (seq INTEGER PRIMARY KEY, shape INTEGER NOT NULL, kind INTEGER NOT NULL, at INTEGER)",
    f"{SHAPES} (shape INTEGER PRIMARY KEY, source_table TEXT NOT NULL, columns TEXT NOT NULL, since INTEGER)",
    f"{READERS} (task TEXT NOT NULL PRIMARY KEY, confirmed INTEGER NOT NULL)",
    f"{WANTED} (task TEXT NOT NULL, source_table TEXT NOT NULL, PRIMARY KEY (task, source_table))",
    f"{REPLACED} (shape INTEGER NOT NULL, place)",
    f"{SEEN} (schema_version INTEGER)",
    f"{LOG} (id TEXT NOT NULL)",
)

ANNOUNCED = 0
"""The kind of a change that is none: from here on the table has this shape."""


class Asked(Protocol):
    def rows(self, statement: str) -> list[tuple[Any, ...]]: ...

    def execute(self, statement: str) -> int: ...


def create(session: Asked) -> None:
    for table in _CREATE:
        session.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    session.execute(f"INSERT INTO {LOG} SELECT hex(randomblob(8)) WHERE NOT EXISTS (SELECT 1 FROM {LOG})")


def make_room(session: Asked, columns: int) -> None:
    """For rows of so many columns."""
    for place in range(room(session), columns):
        session.execute(f"ALTER TABLE {CHANGES} ADD COLUMN old{place}")
        session.execute(f"ALTER TABLE {CHANGES} ADD COLUMN new{place}")
        session.execute(f"ALTER TABLE {REPLACED} ADD COLUMN old{place}")


def room(session: Asked) -> int:
    known = f"pragma_table_info({quoting.text(CHANGES)})"
    ((columns,),) = session.rows(f"SELECT COUNT(*) FROM {known} WHERE name GLOB 'old[0-9]*'")
    return int(columns)


END = f"SELECT COALESCE(MAX(seq), 0) FROM {CHANGES}"
"""The number of the last change."""

Rows = Callable[[str], list[tuple[Any, ...]]]


def end(rows: Rows) -> Position:
    """Where the log ends, as whoever asks sees it."""
    return proven(rows, int(rows(END)[0][0]))


def proven(rows: Rows, number: int) -> Position:
    """The position behind a change, with what proves it later."""
    return position(number).of_log(identity(rows), tail=tail(rows, number))


def identity(rows: Rows) -> str:
    """What tells the log from those of other files; "" where an older version captures."""
    if not rows(f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{LOG}'"):
        return ""
    return str(rows(f"SELECT id FROM {LOG}")[0][0])


def tail(rows: Rows, number: int) -> str:
    """A change's number and its checksum; "" if it is not there."""
    found = rows(f"SELECT * FROM {CHANGES} WHERE seq = {number:d}")
    # More columns may be added later; those that a row does not have are NULL.
    return f"{number}.{crc32(repr([value for value in found[0] if value is not None]).encode()):08x}" if found else ""


def position(number: int) -> Position:
    return Position(str(number))
