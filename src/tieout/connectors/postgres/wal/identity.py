"""What a table's log says of rows before they were changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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
