"""Views, sequences and whatever else no longer serves its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.errors import NotDone
from tests.corruption.postgres.session import quoted, unguarded

if TYPE_CHECKING:
    from tests.servers.server import Database


def broken_view(database: Database, view: str, statement: str) -> None:
    """The view is there and can't be read: `statement` changed or dropped what it uses, and nothing stood in its way.

    Where a column was dropped or has another type, only the first row that is read fails.
    """
    dropped_underneath(database, "pg_rewrite", f"ev_class = '{quoted(view)}'::regclass", statement)


def dropped_underneath(database: Database, catalog: str, where: str, statement: str) -> None:
    """What the objects in the rows `where` of a catalog refer to was changed or dropped by `statement`.

    Nothing stood in its way: the catalog had forgotten that they refer to it.
    """
    with unguarded(database) as cursor:
        objects = f"SELECT oid FROM {catalog} WHERE {where}"
        cursor.execute(
            f"DELETE FROM pg_depend WHERE deptype IN ('n', 'a') AND classid = '{catalog}'::regclass"
            f" AND objid IN ({objects}) AND refclassid <> 'pg_namespace'::regclass"
        )
        if cursor.rowcount < 1:
            raise NotDone(f"what is {where} refers to nothing")
        cursor.execute(statement)


def lost_object(database: Database, catalog: str, where: str) -> None:
    """The rows of a catalog are gone, and nothing else: what refers to the objects still does."""
    with unguarded(database) as cursor:
        cursor.execute(f"DELETE FROM {catalog} WHERE {where}")
        if cursor.rowcount < 1:
            raise NotDone(f"nothing is {where}")


def sequence_behind(database: Database, table: str, column: str) -> None:
    """The next value that the column's sequence gives is its smallest value, which a row already has."""
    database.execute(
        f"SELECT setval(pg_get_serial_sequence(%s, %s), min({quoted(column)}), false) FROM {quoted(table)}",
        quoted(table),
        column,
    )
