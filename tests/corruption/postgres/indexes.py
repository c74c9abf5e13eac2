"""Indexes that are wrong as a whole, and unique ones that hold a key twice."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg

from tests.corruption.errors import NotDone
from tests.corruption.postgres.session import Values, blind, keep, put, quoted, unflagged, unguarded, vacuum

if TYPE_CHECKING:
    from tests.servers.server import Database


def duplicate_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """The unique index holds the key of the row twice: there is a second row like it but for `values`."""
    with unguarded(database) as cursor:
        keep(cursor, table, where, values)
        with unflagged(cursor, index, "indisunique"):
            put(cursor, table)
        vacuum(cursor, table)


def duplicate_without_entry(database: Database, table: str, index: str, where: str, values: Values) -> None:
    """There is a second row like this one but for `values`; the unique index has no entry for it, and no key twice."""
    with unguarded(database) as cursor:
        keep(cursor, table, where, values)
        with blind(cursor, index):
            put(cursor, table)
        vacuum(cursor, table)


def wrong_order(database: Database, index: str, collation: str) -> None:
    """The index says that its texts are in the order of `collation`, which they are not."""
    database.execute(
        "UPDATE pg_index SET indcollation = to_regcollation(%s)::oid::text::oidvector WHERE indexrelid = %s::regclass",
        quoted(collation),
        quoted(index),
    )


def changed_collation(database: Database, collation: str, locale: str) -> None:
    """The ICU collation sorts as in another `locale`, as after an upgrade of ICU: its indexes are in the old order."""
    database.execute(
        "UPDATE pg_collation SET colliculocale = %s WHERE oid = to_regcollation(%s)", locale, quoted(collation)
    )


def redefined_function(database: Database, function: str, body: str) -> None:
    """The function, given as f(integer), has another `body`; indexes over it hold what it gave before."""
    ((definition, old),) = database.rows(
        "SELECT pg_get_functiondef(oid), prosrc FROM pg_proc WHERE oid = %s::regprocedure", function
    )
    database.execute(definition.replace(old, body))


def invalid_index(database: Database, table: str, index: str, columns: str) -> None:
    """There is an index that CREATE INDEX CONCURRENTLY has given up, as `columns` are not unique; writes pass it by."""
    try:
        database.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {quoted(index)} ON {quoted(table)} ({columns})")
    except psycopg.errors.UniqueViolation:
        return
    raise NotDone(f"{columns} of {table} are unique")


def unfinished_index(database: Database, table: str, index: str, columns: str) -> None:
    """There is an index that CREATE INDEX CONCURRENTLY has not validated; writes keep it up, and no plan uses it."""
    with database.connect() as reader, closing(reader.cursor()) as snapshot:
        snapshot.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        with unguarded(database) as cursor:
            cursor.execute("SET lock_timeout = 1")
            try:
                cursor.execute(f"CREATE INDEX CONCURRENTLY {quoted(index)} ON {quoted(table)} ({columns})")
            except psycopg.errors.LockNotAvailable:
                return
    raise NotDone(f"{index} came to its end")
