"""A B-tree index as the catalog has it: what its tuples consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tieout.codecs.postgres_pages.values import Attribute
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.errors import MissingObjectError, UnsupportedError
from tieout.model.tables import TableName

_INDEX = """
SELECT c.oid, m.amname, c.relkind::text, i.indnkeyatts,
  (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pageinspect')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indexrelid = c.oid
JOIN pg_am m ON m.oid = c.relam
WHERE n.nspname = %s AND c.relname = %s"""

# A type of an extension that is printed as text is stored as text: citext.
_ATTRIBUTES = """
WITH RECURSIVE base AS (
  SELECT a.attnum, a.atttypid AS typid FROM pg_attribute a WHERE a.attrelid = %(index)s AND a.attnum > 0
  UNION ALL
  SELECT b.attnum, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.typid WHERE t.typtype = 'd')
SELECT a.attname, pg_get_indexdef(a.attrelid, a.attnum, false), format_type(t.oid, NULL),
  CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname
    WHEN o.prosrc = 'textout' AND o.prolang = l.oid THEN 'text' END,
  a.attlen, a.attalign::text, pg_encoding_to_char(d.encoding),
  (SELECT jsonb_object_agg(e.oid, e.enumlabel) FROM pg_enum e WHERE e.enumtypid = t.oid)
FROM base b JOIN pg_attribute a ON a.attrelid = %(index)s AND a.attnum = b.attnum
JOIN pg_type t ON t.oid = b.typid AND t.typtype <> 'd' JOIN pg_proc o ON o.oid = t.typoutput
JOIN pg_language l ON l.lanname = 'internal'
CROSS JOIN (SELECT encoding FROM pg_database WHERE datname = current_database()) d
ORDER BY a.attnum"""

_BLOCKS = "SELECT pg_relation_size(%s::regclass) / current_setting('block_size')::int8"

_ALIGNMENTS = {"c": 1, "s": 2, "i": 4, "d": 8}


@dataclass(frozen=True, slots=True)
class BTree:
    """A B-tree index. `keys` of its attributes are its key, the others are included; `inspector` is the schema of
    the functions that read pages."""

    name: TableName
    attributes: tuple[Attribute, ...]
    keys: int
    inspector: str


def find_btree(connection: Any, name: TableName) -> BTree:
    """The index of that name: MissingObjectError if there is none, UnsupportedError if its pages can't be read."""
    row = connection.execute(_INDEX, [name.schema, name.name]).fetchone()
    if row is None:
        raise MissingObjectError(f"there is no index {name}", "check its schema and name")
    oid, method, kind, keys, inspector = row
    if method != "btree":
        raise UnsupportedError(f"index {name} is no B-tree: {method}")
    if kind != "i":
        raise UnsupportedError(
            f"index {name} is partitioned: it has no pages of its own", "name those of its partitions"
        )
    if inspector is None:
        raise UnsupportedError("the pages of an index are read with pageinspect", "CREATE EXTENSION pageinspect")
    rows = connection.execute(_ATTRIBUTES, {"index": oid}).fetchall()
    return BTree(name, tuple(_attribute(*row) for row in rows), keys, inspector)


def blocks_of(connection: Any, tree: BTree) -> int:
    """How many blocks the index has now, the first of which holds no entries."""
    return int(connection.execute(_BLOCKS, [PostgresDialect().table(tree.name)]).fetchone()[0])


def _attribute(*row: Any) -> Attribute:
    name, expression, native, stored, length, alignment, encoding, labels = row
    known = {int(oid): label for oid, label in (labels or {}).items()}
    return Attribute(name, expression, native, stored, length, _ALIGNMENTS[alignment], encoding, known)
