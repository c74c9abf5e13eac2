"""Rows taken out of a table and put back while PostgreSQL looks away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.corruption.errors import NotDone

if TYPE_CHECKING:
    from psycopg import Cursor

    from tests.servers.server import Database

Values = Mapping[str, Any]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def unguarded(database: Database) -> Iterator[Cursor[Any]]:
    """A session of its own whose writes set off no trigger and no foreign key, and which reads no index."""
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "SET session_replication_role = replica; SET enable_indexscan = off; SET enable_bitmapscan = off"
        )
        # VACUUM takes a page for all-visible only when the commits of its rows have reached the disk.
        cursor.execute("SET synchronous_commit = on")
        yield cursor


@contextmanager
def surgery(cursor: Cursor[Any], source: str, row: str, column: str, value: Any) -> Iterator[None]:
    """One value of a catalog is another in the block. `row` is the condition of its row."""
    found = cursor.execute(f"SELECT {column} FROM {source} WHERE {row}").fetchall()
    if len(found) != 1:
        raise NotDone(f"{len(found)} rows of {source} are {row}")
    change(cursor, source, {column: value}, row)
    try:
        yield
    finally:
        change(cursor, source, {column: found[0][0]}, row)


@contextmanager
def unflagged(cursor: Cursor[Any], index: str, flag: str) -> Iterator[None]:
    """A flag of the index in pg_index is false in the block."""
    with surgery(cursor, "pg_index", f"indexrelid = '{quoted(index)}'::regclass", flag, False):
        yield


@contextmanager
def blind(cursor: Cursor[Any], index: str) -> Iterator[None]:
    """In the block neither writes nor VACUUM touch the index."""
    with unflagged(cursor, index, "indisready"):
        yield


def vacuum(cursor: Cursor[Any], table: str) -> None:
    """Dead rows and their entries are gone, and every page is all-visible: index-only scans trust the index."""
    cursor.execute(f"VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) {quoted(table)}")


def change(cursor: Cursor[Any], table: str, values: Values, where: str = "true") -> int:
    """Gives how many rows it changed."""
    columns = ", ".join(f"{quoted(column)} = %s" for column in values)
    condition = where.replace("%", "%%")
    cursor.execute(f"UPDATE {quoted(table)} SET {columns} WHERE {condition}", tuple(values.values()))
    return _some(cursor, table, where)


def remove(cursor: Cursor[Any], table: str, where: str) -> None:
    cursor.execute(f"DELETE FROM {quoted(table)} WHERE {where}")
    _some(cursor, table, where)


def keep(cursor: Cursor[Any], table: str, where: str, values: Values | None = None) -> None:
    """The session remembers the rows, changed by `values`."""
    cursor.execute(f"CREATE TEMP TABLE kept AS SELECT {_columns(cursor, table)} FROM {quoted(table)} WHERE {where}")
    _some(cursor, table, where)
    if values:
        change(cursor, "kept", values)


def put(cursor: Cursor[Any], table: str) -> None:
    """Inserts the remembered rows."""
    columns = _columns(cursor, table)
    cursor.execute(
        f"INSERT INTO {quoted(table)} ({columns}) OVERRIDING SYSTEM VALUE"
        f" SELECT {columns} FROM kept RETURNING ctid::text"
    )


def put_at(cursor: Cursor[Any], table: str, place: str) -> None:
    """Inserts the one remembered row where another one was. What falls elsewhere takes up the room there, and dies."""
    cursor.execute("SELECT pg_relation_size(%s::regclass) / current_setting('block_size')::int", (quoted(table),))
    ((pages,),) = cursor.fetchall()
    with cursor.connection.transaction():
        while True:
            put(cursor, table)
            ((fallen,),) = cursor.fetchall()
            if fallen == place:
                return
            if int(fallen[1:].split(",")[0]) >= pages:
                raise NotDone(f"the page of {place} in {table} has too little room; a row of the last page will do")
            cursor.execute(f"DELETE FROM {quoted(table)} WHERE ctid = %s::tid", (fallen,))


def place_of(cursor: Cursor[Any], table: str, where: str) -> str:
    places = cursor.execute(f"SELECT ctid::text FROM {quoted(table)} WHERE {where}").fetchall()
    if len(places) != 1:
        raise NotDone(f"{len(places)} rows of {table} are {where}; this takes one")
    return str(places[0][0])


def _some(cursor: Cursor[Any], table: str, where: str) -> int:
    if cursor.rowcount < 1:
        raise NotDone(f"no row of {table} is {where}")
    return cursor.rowcount


def _columns(cursor: Cursor[Any], table: str) -> str:
    """The columns that take values."""
    cursor.execute(
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''",
        (quoted(table),),
    )
    (columns,) = cursor.fetchone() or ("",)
    return str(columns)
