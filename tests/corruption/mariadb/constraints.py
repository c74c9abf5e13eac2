"""Rows that hold what the table declares impossible; views and sequences that no longer work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.corruption.errors import NotDone
from tests.corruption.mariadb.files import declaration, declare
from tests.corruption.mariadb.session import Values, change, kept, put, quoted, remove

if TYPE_CHECKING:
    from tests.servers.server import Database


def orphaned_rows(database: Database, parent: str, where: str) -> None:
    """The rows of `parent` are gone; rows that refer to them are still there."""
    remove(database, parent, where)


def wrong_reference(database: Database, table: str, where: str, values: Values) -> None:
    """The rows have `values` in their foreign key, which was not asked."""
    change(database, table, values, where)


def violated_check(database: Database, table: str, where: str, values: Values) -> None:
    """The rows have `values`, whatever the CHECK constraints of the table say."""
    change(database, table, values, where)


def invalid_json(database: Database, table: str, column: str, where: str, text: str = "{") -> None:
    """The rows have a text in a JSON column that is no JSON."""
    change(database, table, {column: text}, where)


def no_member(database: Database, table: str, column: str, where: str) -> None:
    """The rows have number 0 in an ENUM column, the empty text, which is none of its members."""
    change(database, table, {column: 0}, where)


def zero_date(database: Database, table: str, column: str, where: str, date: str = "0000-00-00") -> None:
    """The rows have a date in a DATE, DATETIME or TIMESTAMP column that is none: of zeros, or such as 2024-02-31."""
    change(database, table, {column: date}, where)


def wrong_generated_value(database: Database, table: str, column: str, where: str, value: Any) -> None:
    """The rows have `value` in a STORED column, whatever its expression gives; indexes know."""
    form = declaration(database, table)
    other = _generated_as(database, table, column, value)
    with kept(database, table, where):
        declare(database, table, other)
        try:
            remove(database, table, where)
            put(database, table)
        finally:
            declare(database, table, form)


def broken_view(database: Database, view: str, statement: str) -> None:
    """The view is there and can't be read: `statement` changed or dropped what it uses."""
    database.execute(statement)


def sequence_behind(database: Database, sequence: str) -> None:
    """The sequence begins again: rows have what it gives next."""
    database.execute(f"ALTER SEQUENCE {quoted(sequence)} RESTART")


def _generated_as(database: Database, table: str, column: str, value: Any) -> bytes:
    """The table as it would be declared if the column were always `value`."""
    types = database.rows(
        "SELECT column_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s"
        " AND column_name = %s AND extra LIKE 'STORED GENERATED%%'",
        table,
        column,
    )
    if not types:
        raise NotDone(f"{column} of {table} is not generated and stored")
    database.execute(f"CREATE TABLE twin LIKE {quoted(table)}")
    database.execute(f"ALTER TABLE twin MODIFY {quoted(column)} {types[0][0]} AS (%s) STORED", value)
    form = declaration(database, "twin")
    database.execute("DROP TABLE twin")
    return form
