"""What an index holds, and what its table says that it should: a row's address and the attributes of the index."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pyarrow as pa

from tests.servers.server import Database
from tieout.config.urls import parse_url
from tieout.connectors.postgres.check.index_reader import BTree, Entries, IndexReader
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import open_endpoint
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.keys import EVERYTHING
from tieout.model.tables import Column, TableName

_QUOTE = PostgresDialect().quote
_ADDRESS = "((ctid::text::point)[0]::int8 << 16) + (ctid::text::point)[1]::int8"


def index_of(db: Database, name: str) -> BTree:
    return IndexReader(parse_url(db.url)).find(TableName("public", name))


def parts(db: Database, tree: BTree) -> list[Entries]:
    reader = IndexReader(parse_url(db.url))
    return list(reader.entries(tree, 0, reader.blocks(tree)))


def as_table(entries: Sequence[Entries]) -> pa.Table:
    """Sorted by address; an address that occurs twice stays twice."""
    batches = []
    for each in entries:
        values = {name: each.values.column(name) for name in each.values.schema.names}
        batches.append(pa.RecordBatch.from_pydict({"address": pa.array(each.addresses), **values}))
    return pa.Table.from_batches(batches).sort_by("address").combine_chunks()


def held(db: Database, name: str) -> pa.Table:
    return as_table(parts(db, index_of(db, name)))


def told(db: Database, name: str, table: str = "t", where: str = "true") -> pa.Table:
    """The same as PostgresReader reads it from the table."""
    tree = index_of(db, name)
    columns = ", ".join(f"{a.expression} AS {_QUOTE(a.name)}" for a in tree.attributes)
    db.execute(
        f"CREATE OR REPLACE VIEW told_{name} AS SELECT {_ADDRESS} AS address, {columns} FROM {table} WHERE {where}"
    )
    with closing(open_endpoint(parse_url(db.url))) as endpoint:
        (view,) = endpoint.describe([TableName("public", f"told_{name}")])
        scan = Scan(view, tuple(ScanColumn(c, _kind(c)) for c in view.columns))
        batches = list(endpoint.reader().read(scan, EVERYTHING))
    result = pa.Table.from_batches(batches).rename_columns([c.name for c in view.columns])
    return result.replace_schema_metadata(None).sort_by("address").combine_chunks()


def _kind(column: Column) -> Kind:
    kind = common_kind(column.type, column.type)
    assert isinstance(kind, Kind), kind
    return kind


def assert_same(mine: pa.Table, theirs: pa.Table) -> None:
    assert mine.schema.equals(_plain(theirs.schema)), (mine.schema, theirs.schema)
    assert mine.num_rows == theirs.num_rows
    for name in mine.column_names:
        left, right = _exact(mine.column(name)), _exact(theirs.column(name))
        if not left.equals(right):
            pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
            raise AssertionError((name, [pair for pair in pairs if pair[0] != pair[1]][:5]))


def _exact(column: pa.ChunkedArray) -> pa.Array:
    """-0.0 is not 0.0 then, and NaN is itself."""
    array = _storage(column.combine_chunks())
    bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    return array.view(bits[array.type]) if array.type in bits else array


def holds(db: Database, name: str = "i", where: str = "true") -> pa.Table:
    """The entries of an index on t, having seen that they are what t says."""
    found = held(db, name)
    assert_same(found, told(db, name, where=where))
    return found


def _storage(array: pa.Array) -> pa.Array:
    """What a driver has a type of its own for is the bytes that the server sent."""
    return array.storage.cast(pa.binary(16)) if isinstance(array, pa.ExtensionArray) else array


def _plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [pa.field(f.name, pa.binary(16) if isinstance(f.type, pa.BaseExtensionType) else f.type) for f in schema]
    )
