"""Values that their type does not have, or that can't be read any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.errors import NotDone
from tests.corruption.postgres.session import change, quoted, unguarded

if TYPE_CHECKING:
    from psycopg import Cursor

    from tests.servers.server import Database

_FORM = "atttypid, attlen, attbyval, attalign, attstorage, attcollation, atttypmod"


def redeclared_column(database: Database, table: str, column: str, declared: str) -> None:
    """The column is of another type, which is stored alike; its bytes are what they were."""
    database.execute(f"CREATE TABLE twin (c {declared})")
    database.execute(
        f"UPDATE pg_attribute SET ({_FORM}) = (SELECT {_FORM} FROM pg_attribute WHERE attrelid = 'twin'::regclass"
        " AND attname = 'c') WHERE attrelid = %s::regclass AND attname = %s",
        quoted(table),
        column,
    )
    database.execute("DROP TABLE twin")


def lost_label(database: Database, enum: str, label: str) -> None:
    """The type has no such label any more; the rows that had it still point to where it was."""
    database.execute("DELETE FROM pg_enum WHERE enumtypid = %s::regtype AND enumlabel = %s", quoted(enum), label)


def lost_chunks(database: Database, table: str, column: str, where: str) -> None:
    """The rows have a long text in the column, and what is stored outside of them of it is gone."""
    with unguarded(database) as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_surgery")
        cursor.execute("SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = %s::regclass", (quoted(table),))
        ((chunks,),) = cursor.fetchall()
        before = _places(cursor, chunks)
        change(cursor, table, {column: "".join(map(str, range(9000)))}, where)
        lost = _places(cursor, chunks) - before
        if not lost:
            raise NotDone(f"nothing of {column} is stored outside of its row")
        cursor.execute("SELECT heap_force_kill(%s::regclass, %s::tid[])", (chunks, sorted(lost)))


def _places(cursor: Cursor[tuple[str]], table: str) -> set[str]:
    return {place for (place,) in cursor.execute(f"SELECT ctid::text FROM {table}").fetchall()}  # type: ignore[arg-type]
