"""Reads the entries of B-tree indexes from their pages. Runs on executors: picklable, opens its own connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tieout.codecs.postgres_pages.btree_pages import LeafPages, Leaves, leaves
from tieout.codecs.postgres_pages.spans import Places
from tieout.codecs.postgres_pages.tuples import decode
from tieout.codecs.postgres_pages.values import Attribute
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect, libpq_url
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.snapshot import unwrapped
from tieout.connectors.sql.connection_cache import lease
from tieout.errors import MissingObjectError, UnsupportedError
from tieout.model.tables import TableName

_INDEX = """
SELECT c.oid, m.amname, c.relkind::text, i.indnkeyatts,
  (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pageinspect')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indexrelid = c.oid
JOIN pg_am m ON m.oid = c.relam
WHERE n.nspname = %s AND c.relname = %s"""

# An extension's type whose output function is textout is stored as text: citext.
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
    """A B-tree index. The first `keys` attributes are its key, the others are included columns; `inspector` is the
    schema of pageinspect's functions."""

    name: TableName
    attributes: tuple[Attribute, ...]
    keys: int
    inspector: str


def find_btree(connection: Any, name: TableName) -> BTree:
    """Raises MissingObjectError if the index does not exist, UnsupportedError if its pages can't be read."""
    row = connection.execute(_INDEX, [name.schema, name.name]).fetchone()
    if row is None:
        raise MissingObjectError(f"index {name} does not exist", "check its schema and name")
    oid, method, kind, keys, inspector = row
    if method != "btree":
        raise UnsupportedError(f"index {name} is not a B-tree but {method}")
    if kind != "i":
        raise UnsupportedError(
            f"index {name} is partitioned: it has no pages of its own", "name the indexes of its partitions"
        )
    if inspector is None:
        raise UnsupportedError("reading the pages of an index needs pageinspect", "CREATE EXTENSION pageinspect")
    rows = connection.execute(_ATTRIBUTES, {"index": oid}).fetchall()
    return BTree(name, tuple(_attribute(*row) for row in rows), keys, inspector)


def blocks_of(connection: Any, tree: BTree) -> int:
    """How many blocks the index has now. The first one holds no entries."""
    return int(connection.execute(_BLOCKS, [PostgresDialect().table(tree.name)]).fetchone()[0])


def _attribute(*row: Any) -> Attribute:
    name, expression, native, stored, length, alignment, encoding, labels = row
    known = {int(oid): label for oid, label in (labels or {}).items()}
    return Attribute(name, expression, native, stored, length, _ALIGNMENTS[alignment], encoding, known)


@dataclass(frozen=True)
class Entries:
    """The entries of some leaf pages in page order; each array has one element for each entry.

    `addresses` are those of the rows: block in the table * 65536 + item there. `blocks` and `items` say where the entry
    is in the index. `values` has a column for each attribute that is not undecodable. Items that are marked as dead are
    not entries; `pages` counts them.
    """

    addresses: Places
    blocks: Places
    items: Places
    values: pa.RecordBatch
    pages: LeafPages

    def __len__(self) -> int:
        return len(self.addresses)


@dataclass(frozen=True)
class IndexReader:
    url: EndpointUrl

    def find(self, name: TableName) -> BTree:
        """The index of that name. UnsupportedError says why its pages can't be read."""
        with translated(self.url), lease(self._libpq_url, self._connect) as connection:
            return find_btree(connection, name)

    def blocks(self, tree: BTree) -> int:
        """How many blocks the index has now. The first holds no entries."""
        with translated(self.url), lease(self._libpq_url, self._connect) as connection:
            return blocks_of(connection, tree)

    def entries(self, tree: BTree, first: int, last: int) -> Iterator[Entries]:
        """Yields the entries of the blocks [first, last) in parts of some megabytes, by one query.

        While others write, an entry may appear twice or not at all. A corrupt block is a ReadError.
        """
        with translated(self.url), lease(("arrow", self._libpq_url), self._connect_arrow) as connection:
            with connection.cursor() as cursor:
                cursor.execute(pages_statement(tree.name, tree.inspector, first, last))
                for batch in cursor.fetch_record_batch():
                    if batch.num_rows:
                        yield _entries(tree, leaves(str(tree.name), batch))

    @property
    def _libpq_url(self) -> str:
        return libpq_url(self.url, "tieout executor")

    def _connect(self) -> Any:
        return connect(self.url, "tieout executor")

    def _connect_arrow(self) -> Any:
        from tieout.connectors.postgres.arrow import ArrowConnection

        return ArrowConnection(self._libpq_url)


def _entries(tree: BTree, found: Leaves) -> Entries:
    tuples, owners = found.tuples, found.owners
    values = unwrapped(decode(str(tree.name), tuples, tree.attributes))
    if len(owners) == len(tuples):
        return Entries(found.addresses, tuples.blocks, tuples.items, values, found.pages)
    return Entries(found.addresses, tuples.blocks[owners], tuples.items[owners], values.take(owners), found.pages)


def pages_statement(relation: TableName, inspector: str, first: int, last: int) -> str:
    """SQL for number and bytes of each block in [first, last) of a table or an index.

    `inspector` is the schema of pageinspect's functions.
    """
    there = f"pg_relation_size({quoting.relation(relation)}) / current_setting('block_size')::int8"
    # Before PostgreSQL 14, get_raw_page accepts only int4 as a block number.
    blocks = f"generate_series({first:d}, least({last:d}, {there})::int4 - 1) AS b(block)"
    page = f"{quoting.name(inspector)}.get_raw_page({quoting.text(quoting.table(relation))}, 'main', block)"
    return f"SELECT block, {page} FROM {blocks}"
