"""Views and sequences that no longer serve their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.postgres.session import quoted, unguarded

if TYPE_CHECKING:
    from tests.servers.server import Database


def broken_view(database: Database, view: str, statement: str) -> None:
    """The view is there and can't be read: `statement` changed or dropped what it uses, and nothing stood in its way.

    Where a column was dropped or has another type, only the first row that is read fails.
    """
    with unguarded(database) as cursor:
        cursor.execute(
            "DELETE FROM pg_depend WHERE deptype = 'n' AND classid = 'pg_rewrite'::regclass"
            " AND objid IN (SELECT oid FROM pg_rewrite WHERE ev_class = %s::regclass)",
            (quoted(view),),
        )
        cursor.execute(statement)


def sequence_behind(database: Database, table: str, column: str) -> None:
    """The next value that the column's sequence gives is its smallest value, which a row already has."""
    database.execute(
        f"SELECT setval(pg_get_serial_sequence(%s, %s), min({quoted(column)}), false) FROM {quoted(table)}",
        quoted(table),
        column,
    )
