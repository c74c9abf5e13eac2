"""Entries of an index that disagree with the table.

PostgreSQL neither writes to an index that is not `indisready` nor cleans it, and reads it all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.corruption.errors import NotDone
from tests.corruption.postgres.session import (
    Values,
    blind,
    change,
    keep,
    place_of,
    put,
    put_at,
    quoted,
    remove,
    unflagged,
    unguarded,
    vacuum,
)

if TYPE_CHECKING:
    from tests.servers.server import Database


def missing_entry(database: Database, table: str, index: str, where: str) -> None:
    """The rows are as they were and other indexes have them; this index has no entry for them."""
    with unguarded(database) as cursor:
        keep(cursor, table, where)
        remove(cursor, table, where)
        with blind(cursor, index):
            put(cursor, table)
        vacuum(cursor, table)


def dangling_entry(database: Database, table: str, index: str, where: str) -> None:
    """The rows are gone from the table and from other indexes; this index still has their entries.

    An index-only scan returns them. A scan that fetches rows does not, and marks the entries dead: index-only
    scans after it don't return them either.
    """
    with unguarded(database) as cursor, blind(cursor, index):
        remove(cursor, table, where)
        vacuum(cursor, table)


def wrong_row_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The row is gone and another one, with `values`, stands in its place. The index has the entries of both there.

    A scan of the index for the old key returns the new row, whose key is another.
    """
    with unguarded(database) as cursor:
        place = place_of(cursor, table, where)
        keep(cursor, table, where, values)
        with blind(cursor, index):
            remove(cursor, table, where)
            vacuum(cursor, table)
        put_at(cursor, table, place)
        vacuum(cursor, table)


def stale_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The row has `values` and other indexes know; this index has one entry for it, of what it was before.

    The row stands where it stood: the entry points at it.
    """
    with unguarded(database) as cursor:
        place = place_of(cursor, table, where)
        keep(cursor, table, where, values)
        with blind(cursor, index):
            remove(cursor, table, where)
            vacuum(cursor, table)
            put_at(cursor, table, place)
            vacuum(cursor, table)


def stale_entry_of_a_chain(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """Like `stale_entry`, but the row has moved within its page: the entry points at a redirection to it.

    No other index may have a column of `values`.
    """
    with unguarded(database) as cursor, unflagged(cursor, index, "indislive"):
        with cursor.connection.transaction():
            changed = change(cursor, table, values, where)
            cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated(%s::regclass)", (quoted(table),))
            if cursor.fetchall() != [(changed,)]:
                raise NotDone(f"another index has one of {', '.join(values)}, or the page has no room for a second row")
        vacuum(cursor, table)


def wrong_stored_value(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The row has `values`, all in columns that the index INCLUDEs; its entry has the key and the old copies."""
    stale_entry(database, table, index, where, values)
