"""What amcheck says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from tests.corruption.postgres.session import quoted, unguarded

if TYPE_CHECKING:
    from tests.servers.server import Database


def own_checker(database: Database, table: str) -> tuple[str, ...]:
    """The complaints of pg_amcheck --heapallindexed about the table and its indexes; none if it finds nothing."""
    said: list[str] = []
    with unguarded(database) as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
        said += [text for (text,) in cursor.execute("SELECT msg FROM verify_heapam(%s)", (quoted(table),))]
        cursor.execute(
            "SELECT indexrelid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam"
            " WHERE indrelid = %s::regclass AND amname = 'btree' AND indisready AND indisvalid ORDER BY indexrelid",
            (quoted(table),),
        )
        for index in cursor.fetchall():
            try:
                cursor.execute("SELECT bt_index_check(%s::oid::regclass, true)", index)
            except psycopg.InternalError as error:
                said.append(error.diag.message_primary or str(error))
    return tuple(said)
