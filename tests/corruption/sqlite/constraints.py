"""Rows that break what the table declares; views that no longer work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.corruption.errors import NotDone
from tests.corruption.sqlite.session import Values, change, declared, hidden, remove, statement_of, touch, unguarded

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase


def orphaned_rows(database: SqliteDatabase, parent: str, where: str) -> None:
    """The rows of `parent` are gone; rows that refer to them are still there."""
    with unguarded(database) as connection:
        remove(connection, parent, where)


def wrong_reference(database: SqliteDatabase, table: str, where: str, values: Values) -> None:
    """The rows have `values` in their foreign key, which was not asked."""
    with unguarded(database) as connection:
        change(connection, table, values, where)


def violated_check(database: SqliteDatabase, table: str, where: str, values: Values) -> None:
    """The rows have `values`, whatever the CHECK constraints of the table say."""
    with unguarded(database) as connection:
        change(connection, table, values, where)


def null_value(database: SqliteDatabase, table: str, column: str, where: str) -> None:
    """The rows have NULL in a column that is NOT NULL."""
    _written(database, table, r"(?<!IS )\bNOT\s+NULL\b", where, {column: None})


def wrong_type(database: SqliteDatabase, table: str, column: str, where: str, value: Any) -> None:
    """The rows have `value`, which is not of the column's type; the table may be STRICT."""
    _written(database, table, r"\bSTRICT\s*$|\bSTRICT\s*,|,\s*STRICT\b", where, {column: value})


def wrong_generated_value(database: SqliteDatabase, table: str, column: str, where: str, value: Any) -> None:
    """The rows have `value`, a number or a text, in a STORED column, whatever its expression gives."""
    with unguarded(database) as connection:
        own = statement_of(connection, table)
        start, end = _expression(own, column)
        written = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
        with declared(connection, table, own[:start] + written + own[end:]):
            touch(connection, table, where)


def broken_view(database: SqliteDatabase, view: str, statement: str) -> None:
    """The view is there and can't be read: `statement` changed or dropped what it uses."""
    with unguarded(database) as connection, hidden(connection, view):
        connection.execute(statement)


def sequence_behind(database: SqliteDatabase, table: str) -> None:
    """The number that the file keeps of an AUTOINCREMENT table is 0: none was ever handed out."""
    with unguarded(database) as connection:
        if connection.execute("UPDATE sqlite_sequence SET seq = 0 WHERE name = ?", (table,)).rowcount < 1:
            raise NotDone(f"{table} has no number")


def _written(database: SqliteDatabase, table: str, without: str, where: str, values: Values) -> None:
    """Changes the rows while the table's statement lacks whatever matches `without`."""
    with unguarded(database) as connection:
        own = statement_of(connection, table)
        with declared(connection, table, re.sub(without, "", own, flags=re.IGNORECASE)):
            change(connection, table, values, where)


def _expression(statement: str, column: str) -> tuple[int, int]:
    """Where the expression of a generated column begins and ends."""
    found = re.search(rf'[(,]\s*"?{re.escape(column)}"?\s[^,]*?\bAS\s*\(', statement, re.IGNORECASE)
    if found is None:
        raise NotDone(f"{column} is not generated")
    depth, end = 1, found.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(statement[end], 0)
        end += 1
    return found.end(), end - 1
