"""Reads the entries of B-tree indexes. Runs on executors: picklable, opens its own connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tieout.codecs.postgres_pages.btree_pages import LeafPages, Leaves, leaves
from tieout.codecs.postgres_pages.spans import Places
from tieout.codecs.postgres_pages.tuples import decode
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.btree_catalog import BTree, blocks_of, find_btree
from tieout.connectors.postgres.connection import connect, libpq_url
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.snapshot import unwrapped
from tieout.connectors.sql.connection_cache import lease
from tieout.model.tables import TableName


@dataclass(frozen=True)
class Entries:
    """The entries of some leaf pages in page order; one place in each array for each.

    `addresses` are those of the rows that they are for: block in the table * 65536 + item there. `blocks` and `items`
    tell where the entry is in the index. `values` has a column for each attribute that is not undecodable. Items that
    are marked as dead are no entries; `pages` counts them.
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
        """The index of that name; UnsupportedError says why its pages can't be read."""
        with translated(self.url), lease(self._libpq_url, self._connect) as connection:
            return find_btree(connection, name)

    def blocks(self, tree: BTree) -> int:
        """How many blocks the index has now. The first holds no entries."""
        with translated(self.url), lease(self._libpq_url, self._connect) as connection:
            return blocks_of(connection, tree)

    def entries(self, tree: BTree, first: int, last: int) -> Iterator[Entries]:
        """What the blocks [first, last) hold, in parts of some megabytes; in one query.

        While others write, an entry may be told twice or not at all. A block that is garbled is a ReadError.
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
    """SQL: number and bytes of each block of [first, last) that a table or an index has.

    `inspector` is the schema of the functions that read pages.
    """
    there = f"pg_relation_size({quoting.relation(relation)}) / current_setting('block_size')::int8"
    # Before PostgreSQL 14 get_raw_page takes a block number of type int4 alone.
    blocks = f"generate_series({first:d}, least({last:d}, {there})::int4 - 1) AS b(block)"
    page = f"{quoting.name(inspector)}.get_raw_page({quoting.text(quoting.table(relation))}, 'main', block)"
    return f"SELECT block, {page} FROM {blocks}"
