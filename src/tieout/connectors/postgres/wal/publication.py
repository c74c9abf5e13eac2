"""Publications: which tables a slot tells of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.wal.identity import ReplicaIdentity, identities
from tieout.connectors.postgres.wal.table_baseline import note
from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

_OPTIONS = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"

_CREATE = f"CREATE PUBLICATION {{}} FOR TABLE {{}} WITH ({_OPTIONS})"
_SET_TABLES = "ALTER PUBLICATION {} SET TABLE {}"
_SET_OPTIONS = f"ALTER PUBLICATION {{}} SET ({_OPTIONS})"


def publish(connection: Any, publication: str, tables: Sequence[TableName]) -> None:
    """The publication tells of exactly these tables, whether it existed or not."""
    from psycopg import sql

    assert tables, "a publication without tables tells nothing"
    _require_identities(connection, tables)
    name = sql.Identifier(publication)
    listed = sql.SQL(", ").join(sql.Identifier(table.schema, table.name) for table in tables)
    with connection.transaction():
        if exists(connection, publication):
            connection.execute(sql.SQL(_SET_TABLES).format(name, listed))
            connection.execute(sql.SQL(_SET_OPTIONS).format(name))
        else:
            connection.execute(sql.SQL(_CREATE).format(name, listed))
        note(connection, publication)


def unpublish(connection: Any, publication: str) -> None:
    from psycopg import sql

    connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(publication)))


def exists(connection: Any, publication: str) -> bool:
    return connection.execute("SELECT FROM pg_publication WHERE pubname = %s", [publication]).fetchone() is not None


def _require_identities(connection: Any, tables: Sequence[TableName]) -> None:
    """Once it is published, a table without identity refuses every UPDATE and DELETE: its users would see errors."""
    for table, found in identities(connection, tables).items():
        if (reason := unfit(table, found)) is not None:
            raise UnsupportedError(*reason)


def unfit(table: TableName, found: ReplicaIdentity, key: Sequence[str] = ()) -> tuple[str, str] | None:
    """Why a table with this identity can't be followed, and what to do. `key` is what its rows are known by."""
    if found.uneven:
        hint = "give the table and each of its partitions the same REPLICA IDENTITY"
        return f"partitions of {table} have a replica identity of their own", hint
    if not found.columns:
        hint = f"add a primary key, or ALTER TABLE {quoting.shown(table)} REPLICA IDENTITY FULL"
        return f"{table} has no replica identity: its changes can't be followed", hint
    if not set(key) <= set(found.columns):
        hint = f"ALTER TABLE {quoting.shown(table)} REPLICA IDENTITY DEFAULT, or FULL"
        return f"the replica identity of {table} leaves out its key ({', '.join(key)})", hint
    return None
