"""Publications: which tables a slot tells of, and what a table's log says of rows before they were changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.wal.table_baseline import note
from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

# A key that can be deferred is no identity. A partitioned table's rows are logged as its partitions say, and
# ALTER TABLE … REPLICA IDENTITY does not reach them.
_IDENTITIES = """
SELECT c.relreplident::text, CASE WHEN c.relreplident = 'f' THEN
  (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')
ELSE
  (SELECT array_agg(a.attname::text ORDER BY k.place) FROM pg_index i
   CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
   WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate AND k.place <= i.indnkeyatts
     AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident))
END, EXISTS (SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid
  WHERE t.isleaf AND p.relreplident <> c.relreplident)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')"""


class IdentityKind(StrEnum):
    DEFAULT = "default"
    INDEX = "index"
    FULL = "full"
    NOTHING = "nothing"


_KINDS = {kind.value[0]: kind for kind in IdentityKind}


@dataclass(frozen=True, slots=True)
class ReplicaIdentity:
    """`columns` are those of which old values are logged. Without any, no UPDATE and no DELETE can be followed.

    `uneven`: some partitions have another kind than the table itself, and old images can't be told apart.
    """

    kind: IdentityKind
    columns: tuple[str, ...]
    uneven: bool = False


def identities(connection: Any, tables: Iterable[TableName]) -> dict[TableName, ReplicaIdentity]:
    """The replica identity of each of these tables that exists."""
    found = {}
    for table in tables:
        row = connection.execute(_IDENTITIES, [table.schema, table.name]).fetchone()
        if row is not None:
            kind, columns, uneven = row
            found[table] = ReplicaIdentity(_KINDS[kind], tuple(columns or ()), uneven)
    return found


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
