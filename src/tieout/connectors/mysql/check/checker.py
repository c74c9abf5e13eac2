"""What `tieout check` reads of a database on a MySQL server."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import literals
from tieout.connectors.mysql.check.catalog import (
    constraints_of,
    has_ascending_key,
    indexes_of,
    is_clustered,
    partitions_of,
)
from tieout.connectors.mysql.check.constraint_query import find_violations
from tieout.connectors.mysql.check.engine_checker import MARKS, check_table
from tieout.connectors.mysql.check.key_order import KeyOrderPath
from tieout.connectors.mysql.check.lookup import MySQLLookup
from tieout.connectors.mysql.check.prefix_lookups import PrefixLookups, PrefixPath, everything, fails_at_dangling
from tieout.connectors.mysql.check.schema.inspector import inspect
from tieout.connectors.mysql.check.value_rules import rules_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.endpoint import MySQLEndpoint, open_endpoint
from tieout.connectors.protocols.check import IndexInfo, Inspection
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.paths import EngineCheck, NotCheckable
from tieout.connectors.sql import select
from tieout.connectors.sql.checker import CatalogQueries, SqlChecker
from tieout.connectors.sql.index_scan import ScanPath
from tieout.connectors.sql.rows_to_arrow import batch_of, canonical_text
from tieout.connectors.sql.values import ScanValues
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName

_PRIMARY = "FORCE INDEX (PRIMARY)"
_CATALOG = CatalogQueries(indexes_of, constraints_of, find_violations)


def open_checker(url: EndpointUrl) -> MySQLChecker:
    return MySQLChecker(url, open_endpoint(url))


class MySQLChecker(SqlChecker[MySQLEndpoint, MySQLDialect]):
    engine_check_writes = MARKS

    def __init__(self, url: EndpointUrl, endpoint: MySQLEndpoint) -> None:
        super().__init__(str(url.database), endpoint, MySQLDialect(endpoint.server_kind), _CATALOG)
        self.url = url

    def all_tables(self) -> list[TableName]:
        return self._endpoint.tables()

    def tables(self, schema: str | None = None) -> list[TableName]:
        return self._endpoint.tables([schema] if schema else ())

    def table_path(self, table: Table, columns: Sequence[ScanColumn], *, addressed: bool) -> ScanPath | NotCheckable:
        through = _rows_alone(table)
        scan, plan = self._explained(table, columns, through)
        if plan["type"] != "ALL" and plan["key"] != "PRIMARY":
            return NotCheckable(f"the server would read the table through the index {plan['key']}")
        by = "through its primary key, which is the table" if plan["key"] else "row by row"
        cuts: tuple[Key, ...] = ()
        if through == _PRIMARY and len(table.key) == 1:
            cuts = tuple((value,) for value in table.sampled_keys[1:-1])
            scan = replace(scan, key=(0,), ordered_by=(0,))
        return ScanPath(self._endpoint.reader(), scan, len(_address(table)), f"{table.name.name} {by}", cuts)

    def index_path(self, index: IndexInfo) -> ScanPath | NotCheckable:
        through = f"FORCE INDEX ({self._dialect.quote(index.name)})"
        scan, plan = self._explained(index.table, [column.read for column in index.columns], through)
        words = f"key {plan['key']}, {plan['Extra'] or 'with the rows'}"
        if plan["key"] == index.name and "Using index" in str(plan["Extra"]):
            return self._in_order(index, scan, words) if not index.shortened else self._sought(index, scan, words)
        if index.shortened and not index.columns:
            return self._with_rows(index, scan)
        return NotCheckable(f"the server would not read it from the index alone: {words}")

    def _in_order(self, index: IndexInfo, scan: Scan, words: str) -> ScanPath:
        return KeyOrderPath(
            self._endpoint.reader(),
            scan,
            len(_address(index.table)),
            words,
            url=self._endpoint.url,
            server_kind=self._endpoint.server_kind,
            index=index.name,
            descending=tuple(column.descending for column in index.columns),
            behind=_address(index.table) if has_ascending_key(self._endpoint, index.table) else (),
            partitions=partitions_of(self._endpoint, index.table),
        )

    def _with_rows(self, index: IndexInfo, scan: Scan) -> ScanPath | NotCheckable:
        """An index of prefixes only, which the server uses just to find rows."""
        scan = replace(scan, where=everything(self._dialect, index.table.column(index.shortened[0][0])))
        plan = self._endpoint.explain(select.select(self._dialect, scan, ""))
        words = f"key {plan['key']}, {plan['type']}, with the rows"
        if plan["key"] != index.name or plan["type"] != "range":
            return NotCheckable(f"the server would not read all of it: {words}")
        return self._sought(index, scan, words)

    def _sought(self, index: IndexInfo, scan: Scan, words: str) -> ScanPath:
        return PrefixPath(
            self._endpoint.reader(),
            scan,
            len(_address(index.table)),
            f"{words}, and every row looked up through it",
            url=self._endpoint.url,
            lookups=PrefixLookups(
                MySQLDialect(self._endpoint.server_kind, safe=True),
                index,
                _address(index.table),
                _rows_alone(index.table),
            ),
            sees_dangling=fails_at_dangling(self._endpoint.server_kind, self._endpoint.version),
        )

    def _explained(self, table: Table, columns: Sequence[ScanColumn], through: str) -> tuple[Scan, dict[str, object]]:
        """The scan, and the server's plan for it."""
        scan = Scan(table, (*_address(table), *columns), through=through)
        return scan, self._endpoint.explain(select.select(self._dialect, scan, ""))

    def lookup(
        self, table: Table, columns: Sequence[ScanColumn], indexes: Sequence[IndexInfo]
    ) -> MySQLLookup | NotCheckable:
        if not is_clustered(table):
            return NotCheckable(
                f"entries of {table.engine} do not have the keys of their rows: CHECK TABLE checks it whole"
            )
        if not any(index.primary for index in table.indexes):
            return NotCheckable("it has no primary key: CHECK TABLE checks it whole")
        url, server_kind = self._endpoint.url, self._endpoint.server_kind
        return MySQLLookup(url, server_kind, table, _address(table), tuple(columns), tuple(indexes))

    def no_lookup_reason(self, index: IndexInfo) -> str | None:
        return "it holds only prefixes of columns: CHECK TABLE checks it whole" if index.shortened else None

    def addresses_are_keys(self, table: Table) -> bool:
        return is_clustered(table)

    def literal(self, column: Column, value: object) -> str | None:
        return literals.logged(column, value)

    def canonical(self, column: Column, value: object) -> str | None:
        return canonical_text(column, batch_of([[value]], 1).column(0))

    def value_path(self, table: Table, key: Sequence[ScanColumn]) -> ScanValues | NotCheckable:
        path = self.table_path(table, [_any_column(table)], addressed=True)
        if isinstance(path, NotCheckable):
            return path
        rules, unchecked_columns = rules_of(self._endpoint, table)
        # By a key of whole columns, which every engine can read in order.
        own = any(index.primary and index.columns == table.key for index in table.indexes)
        ordered = own and len(key) == len(table.key) > 0 and all(column.column.order for column in key)
        return ScanValues(
            path.reader,
            self._dialect,
            table,
            tuple(rules),
            tuple(key),
            tuple(key) if ordered else (),
            path.scan.through or "",
            _PRIMARY,
            path.evidence,
            f"{self._endpoint.url.redacted()}: ",
            tuple(unchecked_columns),
        )

    def engine_check(self, table: Table, seconds: float) -> EngineCheck:
        return check_table(self._endpoint.url, self._dialect.table(table.name), seconds)

    def inspect(self, names: Collection[TableName] | None) -> list[Inspection]:
        return inspect(self.url, self._endpoint.server_kind, names)


def _address(table: Table) -> tuple[ScanColumn, ...]:
    """The key of a clustered table; none for engines whose entries point into a file."""
    if not is_clustered(table):
        return ()
    columns = [table.column(name) for name in table.key]
    kinds = [common_kind(column.type, column.type) for column in columns]
    return tuple(ScanColumn(c, kind) for c, kind in zip(columns, kinds, strict=True) if isinstance(kind, Kind))


def _rows_alone(table: Table) -> str:
    """SQL: the access path to the rows that uses no index but the table itself."""
    clustered = is_clustered(table) and any(index.primary for index in table.indexes)
    return _PRIMARY if clustered else "USE INDEX ()"


def _any_column(table: Table) -> ScanColumn:
    """Any column, for a statement that the server only explains."""
    return ScanColumn(table.columns[0], Kind(Form.BYTES))
