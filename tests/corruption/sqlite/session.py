"""A schema of SQLite edited by hand, and rows written meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.corruption.errors import NotDone

if TYPE_CHECKING:
    from sqlite3 import Connection

    from tests.servers.sqlite import SqliteDatabase

Values = Mapping[str, Any]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def unguarded(database: SqliteDatabase) -> Iterator[Connection]:
    """A session of its own that asks no foreign key and no CHECK, and does not mind entries that are not there."""
    with database.connect() as connection:
        connection.executescript(
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF"
        )
        connection.execute("PRAGMA writable_schema = ON")
        yield connection


def edit(connection: Connection, statement: str, *params: Any) -> None:
    """Writes to the schema, and has every session read it again."""
    connection.execute(statement, params)
    ((version,),) = connection.execute("PRAGMA schema_version")
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute("PRAGMA writable_schema = ON")


def statement_of(connection: Connection, name: str) -> str:
    """What made a table, an index or a view."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchall()
    if not found or found[0][0] is None:
        raise NotDone(f"no statement made {name}")
    return str(found[0][0])


def declare(connection: Connection, name: str, statement: str) -> None:
    edit(connection, "UPDATE sqlite_master SET sql = ? WHERE name = ?", statement, name)


@contextmanager
def declared(connection: Connection, name: str, statement: str) -> Iterator[None]:
    """In the block, `statement` is what made the table or the index."""
    own = statement_of(connection, name)
    declare(connection, name, statement)
    try:
        yield
    finally:
        declare(connection, name, own)


@contextmanager
def hidden(connection: Connection, name: str) -> Iterator[None]:
    """In the block the schema has nothing of this name."""
    rows = connection.execute("SELECT * FROM sqlite_master WHERE name = ?", (name,)).fetchall()
    if len(rows) != 1:
        raise NotDone(f"there is no {name}")
    edit(connection, "DELETE FROM sqlite_master WHERE name = ?", name)
    try:
        yield
    finally:
        edit(connection, "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", *rows[0])


@contextmanager
def blind(connection: Connection, index: str) -> Iterator[None]:
    """In the block the index's name leads to an empty tree, which then goes; its own tree stays as it is."""
    connection.execute("CREATE TABLE decoy (entry PRIMARY KEY) WITHOUT ROWID")
    own, empty = _root(connection, index), _root(connection, "decoy")
    lead = "UPDATE sqlite_master SET rootpage = ? WHERE name = ?"
    with hidden(connection, "decoy"):
        edit(connection, lead, empty, index)
        try:
            yield
        finally:
            edit(connection, lead, own, index)
    connection.execute("DROP TABLE decoy")


def itself(connection: Connection, table: str) -> str:
    """The table in a statement that shall read no index of it."""
    # NOT INDEXED says nothing where there is no rowid: the table is the index of its primary key there.
    own = "SELECT name FROM pragma_index_list(?) WHERE origin = 'pk'"
    found = connection.execute(own, (table,)).fetchall() if _without_rowid(connection, table) else []
    return f"{quoted(table)} INDEXED BY {quoted(found[0][0])}" if found else f"{quoted(table)} NOT INDEXED"


def rows_of(connection: Connection, table: str, where: str) -> list[dict[str, Any]]:
    """The columns that take values, and the rowid where no column is one."""
    names = _columns(connection, table)
    columns = ", ".join(map(quoted, names))
    found = connection.execute(f"SELECT {columns} FROM {itself(connection, table)} WHERE {where}").fetchall()
    if not found:
        raise NotDone(f"no row of {table} is {where}")
    return [dict(zip(names, row, strict=True)) for row in found]


def insert(connection: Connection, table: str, row: Values) -> None:
    columns, marks = ", ".join(map(quoted, row)), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {quoted(table)} ({columns}) VALUES ({marks})", tuple(row.values()))


def change(connection: Connection, table: str, values: Values, where: str) -> None:
    columns = ", ".join(f"{quoted(column)} = ?" for column in values)
    source = itself(connection, table)
    changed = connection.execute(f"UPDATE {source} SET {columns} WHERE {where}", tuple(values.values()))
    if changed.rowcount < 1:
        raise NotDone(f"no row of {table} is {where}")


def touch(connection: Connection, table: str, where: str) -> None:
    """Writes what the rows hold again, and what is generated from it."""
    columns = ", ".join(f"{quoted(column)} = {quoted(column)}" for column in _columns(connection, table))
    connection.execute(f"UPDATE {itself(connection, table)} SET {columns} WHERE {where}")


def remove(connection: Connection, table: str, where: str) -> None:
    if connection.execute(f"DELETE FROM {itself(connection, table)} WHERE {where}").rowcount < 1:
        raise NotDone(f"no row of {table} is {where}")


def _root(connection: Connection, name: str) -> int:
    found = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchall()
    if not found:
        raise NotDone(f"there is no {name}")
    return int(found[0][0])


def _columns(connection: Connection, table: str) -> list[str]:
    columns = connection.execute("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    key = [kind.upper() for _, kind, position, _ in columns if position]
    unnamed = [] if key == ["INTEGER"] or _without_rowid(connection, table) else ["rowid"]
    return unnamed + [name for name, _, _, generated in columns if not generated]


def _without_rowid(connection: Connection, table: str) -> bool:
    return connection.execute("SELECT wr FROM pragma_table_list(?)", (table,)).fetchall() == [(1,)]
