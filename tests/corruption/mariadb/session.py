"""Rows of MariaDB written by a session that is asked nothing, and rows kept aside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.corruption.errors import NotDone

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

    from tests.servers.server import Database

Values = Mapping[str, Any]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def unguarded(database: Database) -> Iterator[Cursor]:
    """A session of its own that asks no foreign key and no CHECK, and takes whatever the columns can hold."""
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'")
        cursor.execute("SET SESSION foreign_key_checks = 0, check_constraint_checks = 0")
        yield cursor


def change(database: Database, table: str, values: Values, where: str = "1") -> None:
    columns = ", ".join(f"{quoted(column)} = %s" for column in values)
    condition = where.replace("%", "%%")
    with unguarded(database) as cursor:
        _some(database, table, where)
        cursor.execute(f"UPDATE {quoted(table)} USE INDEX () SET {columns} WHERE {condition}", tuple(values.values()))


def remove(database: Database, table: str, where: str) -> None:
    with unguarded(database) as cursor:
        _some(database, table, where)
        cursor.execute(f"DELETE {quoted(table)} FROM {quoted(table)} USE INDEX () WHERE {where}")


@contextmanager
def kept(database: Database, table: str, where: str, values: Values | None = None) -> Iterator[None]:
    """The rows, changed by `values`, are in another table until the block ends."""
    _some(database, table, where)
    with unguarded(database) as cursor:
        columns = _columns(database, table)
        cursor.execute(f"CREATE TABLE kept AS SELECT {columns} FROM {quoted(table)} USE INDEX () WHERE {where}")
    try:
        if values:
            change(database, "kept", values)
        yield
    finally:
        database.execute("DROP TABLE kept")


def put(database: Database, table: str) -> None:
    """Inserts the kept rows."""
    columns = _columns(database, table)
    with unguarded(database) as cursor:
        cursor.execute(f"INSERT INTO {quoted(table)} ({columns}) SELECT {columns} FROM kept")


def engine_of(database: Database, table: str) -> str:
    engines = "SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s"
    found = database.rows(engines, table)
    if not found:
        raise NotDone(f"there is no table {table}")
    return str(found[0][0])


def _some(database: Database, table: str, where: str) -> None:
    if database.rows(f"SELECT count(*) FROM {quoted(table)} USE INDEX () WHERE {where}") == [(0,)]:
        raise NotDone(f"no row of {table} is {where}")


def _columns(database: Database, table: str) -> str:
    """The columns that take values."""
    names = database.rows(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s"
        " AND is_generated = 'NEVER' ORDER BY ordinal_position",
        table,
    )
    return ", ".join(quoted(name) for (name,) in names)
