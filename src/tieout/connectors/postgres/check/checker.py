"""What checks need to know of a PostgreSQL database and how they read it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tieout.codecs.postgres_pages.heap_versions import OFFSETS
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.check.catalog import constraints_of, indexes_of
from tieout.connectors.postgres.check.constraint_query import find_violations
from tieout.connectors.postgres.check.engine_checker import amcheck
from tieout.connectors.postgres.check.exported_snapshot import ExportedSnapshot
from tieout.connectors.postgres.check.heap import HeapPath, explain_heap
from tieout.connectors.postgres.check.index_paths import IndexOnlyScan, IndexPages, in_order, index_only, index_pages
from tieout.connectors.postgres.check.lookup import PostgresLookup
from tieout.connectors.postgres.check.schema.inspector import inspect
from tieout.connectors.postgres.check.value_rules import HeapValues, heap_values, rules_of
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import PostgresEndpoint, open_endpoint
from tieout.connectors.postgres.literals import log_literal
from tieout.connectors.protocols.check import IndexInfo, Inspection
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import EngineCheck, NotCheckable
from tieout.connectors.sql.checker import CatalogQueries, SqlChecker
from tieout.connectors.sql.rows_to_arrow import batch_of, canonical_text
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_CATALOG = CatalogQueries(indexes_of, constraints_of, find_violations)

_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname = %s ORDER BY 1, 2"""

_ALL_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname !~ '^pg_(toast|temp_)'
ORDER BY 1, 2"""

_LEAVES = """
SELECT DISTINCT n.nspname, l.relname
FROM unnest(%s::text[], %s::text[]) AS wanted(schema, name)
JOIN pg_namespace s ON s.nspname = wanted.schema JOIN pg_class c ON c.relnamespace = s.oid AND c.relname = wanted.name
CROSS JOIN LATERAL (
  SELECT c.oid AS leaf WHERE c.relkind <> 'p'
  UNION ALL SELECT t.relid FROM pg_partition_tree(c.oid) t WHERE c.relkind = 'p' AND t.isleaf) AS found
JOIN pg_class l ON l.oid = found.leaf JOIN pg_namespace n ON n.oid = l.relnamespace ORDER BY 1, 2"""

_WITH_PAGES = ("r", "m")
"""Tables and materialized views."""

_BLOCKS = """
SELECT pg_relation_size(c.oid) / current_setting('block_size')::int8, c.relkind::text,
  (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pageinspect')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""


def open_checker(url: EndpointUrl) -> PostgresChecker:
    return PostgresChecker(url, open_endpoint(url))


class PostgresChecker(SqlChecker[PostgresEndpoint, PostgresDialect]):
    def __init__(self, url: EndpointUrl, endpoint: PostgresEndpoint) -> None:
        super().__init__(str(url.database), endpoint, PostgresDialect(), _CATALOG)
        self.url = url
        self._snapshot = ExportedSnapshot(url)

    def all_tables(self) -> list[TableName]:
        return [TableName(*row) for row in self._endpoint.all(_ALL_TABLES, [])]

    def tables(self, schema: str | None = None) -> list[TableName]:
        return [TableName(*row) for row in self._endpoint.all(_TABLES, [schema or self.default_schema()])]

    def leaves(self, names: Sequence[TableName]) -> list[TableName]:
        schemas, tables = [name.schema for name in names], [name.name for name in names]
        return [TableName(*row) for row in self._endpoint.all(_LEAVES, [schemas, tables])]

    def table_path(self, table: Table, columns: Sequence[ScanColumn], *, addressed: bool) -> HeapPath | NotCheckable:
        ((blocks, kind, inspector),) = self._endpoint.all(_BLOCKS, [table.name.schema, table.name.name])
        if kind not in _WITH_PAGES:
            return NotCheckable("it has no pages of its own")
        path = HeapPath(self.url, table.name, tuple(columns), int(blocks), inspector=inspector)
        if not addressed:
            path = replace(path, address=(), snapshot=self._snapshot.name(), inspector=None)
        evidence = explain_heap(path)
        if evidence is None:
            return NotCheckable("the planner does not read the table from its heap")
        return replace(path, evidence=evidence)

    def index_path(self, index: IndexInfo) -> IndexPages | IndexOnlyScan | NotCheckable:
        path = index_pages(self.url, index)
        if not isinstance(path, NotCheckable):
            return path
        scan = index_only(self.url, index, self._snapshot.name(), path.reason)
        return scan if isinstance(scan, NotCheckable) else in_order(scan)

    def lookup(
        self, table: Table, columns: Sequence[ScanColumn], indexes: Sequence[IndexInfo]
    ) -> PostgresLookup | NotCheckable:
        return PostgresLookup(self.url, table, tuple(columns), tuple(indexes))

    def no_lookup_reason(self, index: IndexInfo) -> str | None:
        if any(column.included for column in index.columns):
            return f"its copies of included columns can't be looked up by key: CHECK TABLE … INDEX {index.name}"
        return None

    def addresses_are_keys(self, table: Table) -> bool:
        return False

    def literal(self, column: Column, value: object) -> str | None:
        return log_literal(value)

    def canonical(self, column: Column, value: object) -> str | None:
        return canonical_text(column, batch_of([[_driver_value(column, value)]], 1).column(0))

    def value_path(self, table: Table, key: Sequence[ScanColumn]) -> HeapValues | NotCheckable:
        ((blocks, kind, _),) = self._endpoint.all(_BLOCKS, [table.name.schema, table.name.name])
        if kind not in _WITH_PAGES:
            return NotCheckable("it has no pages of its own")
        rules = rules_of(self._endpoint, table)
        return heap_values(HeapValues(self.url, table.name, tuple(rules), tuple(key), int(blocks)))

    def engine_check(self, table: Table, seconds: float) -> EngineCheck:
        return amcheck(self.url, table.name, seconds)

    def inspect(self, names: Collection[TableName] | None) -> list[Inspection]:
        return inspect(self.url, names)

    def address_text(self, address: Sequence[str | None]) -> str:
        number = int(address[0] or 0)
        return f"({number // OFFSETS},{number % OFFSETS})"

    def release_snapshot(self) -> None:
        self._snapshot.release_snapshot()

    def close(self) -> None:
        self.release_snapshot()
        super().close()


def _driver_value(column: Column, value: object) -> object:
    """Converts a value of the log, which is text."""
    if isinstance(value, str) and column.type.name is TypeName.BINARY:
        return bytes.fromhex(value.removeprefix("\\x"))
    if isinstance(value, str) and column.type.name is TypeName.BOOLEAN:
        return value == "t"
    return value
