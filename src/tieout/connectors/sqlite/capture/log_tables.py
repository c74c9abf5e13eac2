"""The tables that store captured changes, and who reads them.

A position is the number of the last change before it. SQLite has one writer at a time, so a reader that asks for the
last number gets that of a finished transaction, never one from inside a transaction.

After an earlier copy of a file is restored, numbers are used a second time. So a position also has the checksum of the
last change, and a random identity that the capture got when it started.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

from tieout.connectors.sql.internal_tables import CAPTURE, PREFIX
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.session import SQLiteSession
from tieout.model.positions import Position

Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement on the file and returns its rows."""

TABLES = tuple(f"{PREFIX}{name}" for name in CAPTURE)
CHANGES, SHAPES, READERS, WANTED, REPLACED, SEEN, LOG = TABLES

# Columns without a type store a value unchanged, including its class. No AUTOINCREMENT: it would leave one of SQLite's
# own tables behind. Instead, the last change is never deleted, so no number is used twice.
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
"""The kind of an entry that is not a change: from here on the table has this shape."""


def create(session: SQLiteSession) -> None:
    for table in _CREATE:
        session.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    session.execute(f"INSERT INTO {LOG} SELECT hex(randomblob(8)) WHERE NOT EXISTS (SELECT 1 FROM {LOG})")


def make_room(session: SQLiteSession, columns: int) -> None:
    """Adds columns for rows of this width."""
    for place in range(room(session), columns):
        session.execute(f"ALTER TABLE {CHANGES} ADD COLUMN old{place}")
        session.execute(f"ALTER TABLE {CHANGES} ADD COLUMN new{place}")
        session.execute(f"ALTER TABLE {REPLACED} ADD COLUMN old{place}")


def room(session: SQLiteSession) -> int:
    known = f"pragma_table_info({quoting.text(CHANGES)})"
    ((columns,),) = session.rows(f"SELECT COUNT(*) FROM {known} WHERE name GLOB 'old[0-9]*'")
    return int(columns)


END = f"SELECT COALESCE(MAX(seq), 0) FROM {CHANGES}"
"""The number of the last change."""


def end(rows: Query) -> Position:
    """The end of the log, as this session sees it."""
    return proven(rows, int(rows(END)[0][0]))


def proven(rows: Query, number: int) -> Position:
    """The position after a change, with what proves it later."""
    return position(number).of_log(identity(rows), tail=tail(rows, number))


def identity(rows: Query) -> str:
    """The identity of the log; "" if an older version started the capture."""
    if not rows(f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{LOG}'"):
        return ""
    return str(rows(f"SELECT id FROM {LOG}")[0][0])


def tail(rows: Query, number: int) -> str:
    """A change's number and its checksum; "" if it does not exist."""
    found = rows(f"SELECT * FROM {CHANGES} WHERE seq = {number:d}")
    # Columns may be added later; in older rows they are NULL.
    return f"{number}.{crc32(repr([value for value in found[0] if value is not None]).encode()):08x}" if found else ""


def position(number: int) -> Position:
    return Position(str(number))
