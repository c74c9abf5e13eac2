"""A PostgreSQL database as one who checks it sees it."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.config.urls import EndpointUrl
from tieout.connectors.base import ScanColumn
from tieout.connectors.checking import IndexInfo, Unreadable
from tieout.connectors.postgres.checking.catalog import indexes_of
from tieout.connectors.postgres.checking.heap import OFFSETS, HeapPath, explain_heap
from tieout.connectors.postgres.checking.index_pages import IndexPages, index_pages
from tieout.connectors.postgres.endpoint import PostgresEndpoint, open_endpoint
from tieout.model.tables import Table, TableName

_BLOCKS = """
SELECT pg_relation_size(c.oid) / current_setting('block_size')::int8, c.relkind::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""


def open_checker(url: EndpointUrl) -> PostgresChecker:
    return PostgresChecker(url, open_endpoint(url))


class PostgresChecker:
    def __init__(self, url: EndpointUrl, endpoint: PostgresEndpoint) -> None:
        self.url = url
        self.database = str(url.database)
        self._endpoint = endpoint

    def tables(self, schema: str | None = None) -> list[TableName]:
        return self._endpoint.tables([schema] if schema else ())

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        return self._endpoint.describe(names)

    def default_schema(self) -> str:
        return self._endpoint.default_schema()

    def indexes(self, table: Table) -> list[IndexInfo]:
        return indexes_of(self._endpoint, table)

    def table_path(self, table: Table, columns: Sequence[ScanColumn]) -> HeapPath | Unreadable:
        ((blocks, kind),) = self._endpoint.all(_BLOCKS, [table.name.schema, table.name.name])
        if kind != "r":
            return Unreadable("it is partitioned: check its partitions")
        path = HeapPath(self.url, table.name, tuple(columns), int(blocks))
        evidence = explain_heap(path)
        if evidence is None:
            return Unreadable("the planner reads the table by another path than its heap")
        return HeapPath(self.url, table.name, tuple(columns), int(blocks), evidence)

    def index_path(self, index: IndexInfo) -> IndexPages | Unreadable:
        return index_pages(self.url, index)

    def address_text(self, address: Sequence[str | None]) -> str:
        number = int(address[0] or 0)
        return f"({number // OFFSETS},{number % OFFSETS})"

    def close(self) -> None:
        self._endpoint.close()
