"""Entries of an index that disagree with the table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.corruption.errors import NotDone
from tests.corruption.sqlite.session import (
    Values,
    blind,
    change,
    declare,
    declared,
    insert,
    remove,
    rows_of,
    statement_of,
    unguarded,
)

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase


def missing_entry(database: SqliteDatabase, table: str, index: str, where: str) -> None:
    """The rows are as they were and other indexes have them; this index has no entry for them."""
    with unguarded(database) as connection:
        rows = rows_of(connection, table, where)
        remove(connection, table, where)
        with blind(connection, index):
            for row in rows:
                insert(connection, table, row)


def dangling_entry(database: SqliteDatabase, table: str, index: str, where: str) -> None:
    """The rows are gone from the table and from other indexes; this index still has their entries."""
    with unguarded(database) as connection, blind(connection, index):
        remove(connection, table, where)


def wrong_row_entry(database: SqliteDatabase, table: str, index: str, where: str, values: Values) -> None:
    """The rows are gone and others, with `values`, have their keys. The index has the entries of both.

    An entry leads to its row by rowid, or by primary key where there is none: `values` leave it as it is.
    """
    with unguarded(database) as connection:
        rows = rows_of(connection, table, where)
        with blind(connection, index):
            remove(connection, table, where)
        for row in rows:
            insert(connection, table, {**row, **values})


def stale_entry(database: SqliteDatabase, table: str, index: str, where: str, values: Values) -> None:
    """The rows have `values` and other indexes know; this index has one entry for each, of what it was before."""
    with unguarded(database) as connection, blind(connection, index):
        change(connection, table, values, where)


def duplicate_entry(database: SqliteDatabase, table: str, index: str, where: str, values: Values) -> None:
    """The unique index holds the key of the row twice: there is a second row like it but for `values`.

    Only of an index that CREATE UNIQUE INDEX made.
    """
    with unguarded(database) as connection:
        own = statement_of(connection, index)
        with declared(connection, index, re.sub(r"\bUNIQUE\b", "", own, count=1, flags=re.IGNORECASE)):
            for row in _copies(rows_of(connection, table, where), values):
                insert(connection, table, row)


def duplicate_without_entry(database: SqliteDatabase, table: str, index: str, where: str, values: Values) -> None:
    """There is a second row like this one but for `values`; the unique index has no entry for it, and no key twice."""
    with unguarded(database) as connection, blind(connection, index):
        for row in _copies(rows_of(connection, table, where), values):
            insert(connection, table, row)


def redeclared(database: SqliteDatabase, name: str, old: str, new: str) -> None:
    """The statement of the table or the index says `new` where it said `old`; what it holds is of the old one."""
    with unguarded(database) as connection:
        own = statement_of(connection, name)
        if old not in own:
            raise NotDone(f"{name} does not say {old}")
        declare(connection, name, own.replace(old, new))


def _copies(rows: list[dict[str, object]], values: Values) -> list[dict[str, object]]:
    return [{column: value for column, value in {**row, **values}.items() if column != "rowid"} for row in rows]
