"""Rows that break what the table declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.corruption.postgres.session import Values, change, quoted, remove, surgery, unguarded

if TYPE_CHECKING:
    from tests.servers.server import Database


def orphaned_rows(database: Database, parent: str, where: str) -> None:
    """The rows of `parent` are gone; rows that refer to them are still there."""
    with unguarded(database) as cursor:
        remove(cursor, parent, where)


def wrong_reference(database: Database, table: str, where: str, values: Values) -> None:
    """The rows have `values` in their foreign key, which was not asked: a key of no row, or NULL in a part of it."""
    with unguarded(database) as cursor:
        change(cursor, table, values, where)


def violated_check(database: Database, table: str, where: str, values: Values) -> None:
    """The rows have `values`, whatever the CHECK constraints of the table say; they are all called valid."""
    with (
        unguarded(database) as cursor,
        surgery(cursor, "pg_class", f"oid = '{quoted(table)}'::regclass", "relchecks", 0),
    ):
        change(cursor, table, values, where)


def check_never_asked(database: Database, table: str, constraint: str, condition: str) -> None:
    """The table has a CHECK constraint that is called valid and was asked of no row."""
    database.execute(f"ALTER TABLE {quoted(table)} ADD CONSTRAINT {quoted(constraint)} CHECK ({condition}) NOT VALID")
    database.execute(
        "UPDATE pg_constraint SET convalidated = true WHERE conrelid = %s::regclass AND conname = %s",
        quoted(table),
        constraint,
    )


def null_value(database: Database, table: str, column: str, where: str) -> None:
    """The rows have NULL in a column that is NOT NULL."""
    with unguarded(database) as cursor, surgery(cursor, *_declared(table, column), "attnotnull", False):
        change(cursor, table, {column: None}, where)


def wrong_generated_value(database: Database, table: str, column: str, where: str, value: Any) -> None:
    """The rows have `value` in a generated column, whatever its expression gives."""
    with unguarded(database) as cursor, surgery(cursor, *_declared(table, column), "attgenerated", ""):
        change(cursor, table, {column: value}, where)


def _declared(table: str, column: str) -> tuple[str, str]:
    """The catalog and the row that declare a column."""
    return "pg_attribute", f"attrelid = '{quoted(table)}'::regclass AND attname = '{column}'"
