"""Checks an SQLite file against itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tieout.canonical.decode import decode
from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import IndexInfo, Inspection
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.paths import EngineCheck, NotCheckable
from tieout.connectors.sql import select
from tieout.connectors.sql.checker import CatalogQueries, SqlChecker
from tieout.connectors.sql.index_scan import ScanPath
from tieout.connectors.sql.values import ScanValues
from tieout.connectors.sqlite import literals
from tieout.connectors.sqlite.check.catalog import (
    address_of,
    constraints_of,
    indexes_of,
    is_rowid,
    is_without_rowid,
    rows_alone,
    scan_column,
)
from tieout.connectors.sqlite.check.constraint_query import find_violations
from tieout.connectors.sqlite.check.engine_checker import integrity_check
from tieout.connectors.sqlite.check.imposters import Imposters
from tieout.connectors.sqlite.check.key_order import KeyColumn, TreePath
from tieout.connectors.sqlite.check.lookup import SQLiteLookup
from tieout.connectors.sqlite.check.schema import inspect
from tieout.connectors.sqlite.check.value_rules import rules_of
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint, open_endpoint
from tieout.connectors.sqlite.errors import MALFORMED, translated
from tieout.connectors.sqlite.snapshot import array_of
from tieout.errors import ReadError
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_DIALECT = SQLiteDialect()
_CATALOG = CatalogQueries(indexes_of, constraints_of, find_violations)
_COVERING = "USING COVERING INDEX"
_NO_NAME = "columns of the table take all of SQLite's names for the rowid"


def open_checker(url: EndpointUrl) -> SQLiteChecker:
    try:
        return SQLiteChecker(url, open_endpoint(url))
    except ReadError as error:
        if MALFORMED not in error.message:
            raise
        # With this setting, SQLite skips definitions that it does not understand.
        connection = connect(url)
        connection.execute("PRAGMA writable_schema = ON")
        return SQLiteChecker(url, SQLiteEndpoint(url, connection), error)


class SQLiteChecker(SqlChecker[SQLiteEndpoint, SQLiteDialect]):
    """Checks a table in a copy of the file, at one snapshot, if SQLite can't read one of its indexes alone.

    Of a file that is `unreadable`, only definitions can be checked.
    """

    other_names: tuple[str, ...] = ("main",)
    """SQLite's own name for a file, whatever the file is called: its tables are main.orders."""

    def __init__(self, url: EndpointUrl, endpoint: SQLiteEndpoint, unreadable: ReadError | None = None) -> None:
        super().__init__(Path(url.path or "").stem, endpoint, _DIALECT, _CATALOG)
        self.url = url
        self._unreadable = unreadable
        self._imposters = Imposters(url)
        self._copied: set[TableName] = set()

    def all_tables(self) -> list[TableName]:
        return self._endpoint.tables()

    def tables(self, schema: str | None = None) -> list[TableName]:
        return [table for table in self._endpoint.tables() if schema in (None, table.schema)]

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        if self._unreadable is not None:
            raise self._unreadable
        return super().describe(names)

    def indexes(self, table: Table) -> list[IndexInfo]:
        found = super().indexes(table)
        if address_of(self._endpoint, table) and not all(self._is_covering(index) for index in found):
            self._copied.add(table.name)
        return found

    def table_path(self, table: Table, columns: Sequence[ScanColumn], *, addressed: bool) -> ScanPath | NotCheckable:
        if not address_of(self._endpoint, table):
            return NotCheckable(_NO_NAME)
        path = self._path(table, columns, None, rows_alone(self._endpoint, table))
        if " USING " in path.evidence:
            return NotCheckable(f"SQLite would not read the table itself: {path.evidence}")
        if table.name not in self._copied:
            return path
        return replace(path, reader=self._imposters.reader(), evidence=f"{path.evidence}, in a copy of the file")

    def index_path(self, index: IndexInfo) -> ScanPath | NotCheckable:
        address = address_of(self._endpoint, index.table)
        if not address:
            return NotCheckable(_NO_NAME)
        if index.table.name in self._copied:
            return self._ordered(index, self._imposters.path(index, address), self._imposters.reader().url)
        return self._ordered(index, self._covering(index), self._endpoint.url)

    def _ordered(self, index: IndexInfo, path: ScanPath, url: EndpointUrl) -> ScanPath:
        """The same path, able to check the order of entries, if SQLite reads them in the stored order."""
        parts = self._endpoint.all(f"PRAGMA main.index_xinfo({_DIALECT.quote(index.name)})")
        keys = tuple(KeyColumn(str(part[4]), bool(part[3])) for part in parts if part[5])
        tree = TreePath(path.reader, path.scan, path.wide, path.evidence, url=url, keys=keys)
        with translated(url), closing(connect(url)) as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {tree.order_statement()}").fetchall()
        steps = [str(row[3]) for row in plan]
        alone = index.table.name in self._copied or any(_reads_alone(index, step) for step in steps)
        return tree if alone and not any("TEMP B-TREE" in step for step in steps) else path

    def _is_covering(self, index: IndexInfo) -> bool:
        return _reads_alone(index, self._covering(index).evidence)

    def _covering(self, index: IndexInfo) -> ScanPath:
        columns = [column.read for column in index.columns]
        return self._path(index.table, columns, index.where, f"INDEXED BY {_DIALECT.quote(index.name)}")

    def _path(self, table: Table, columns: Sequence[ScanColumn], where: str | None, through: str) -> ScanPath:
        address = address_of(self._endpoint, table)
        scan = Scan(table, (*address, *columns), where=where, through=through)
        plan = self._endpoint.all(f"EXPLAIN QUERY PLAN {select.select(_DIALECT, scan, '')}")
        return ScanPath(self._endpoint.reader(), scan, len(address), "; ".join(str(row[3]) for row in plan))

    def lookup(
        self, table: Table, columns: Sequence[ScanColumn], indexes: Sequence[IndexInfo]
    ) -> SQLiteLookup | NotCheckable:
        address = address_of(self._endpoint, table)
        if not address:
            return NotCheckable(_NO_NAME)
        alone = rows_alone(self._endpoint, table)
        by_index = not self.addresses_are_keys(table)
        url = self._endpoint.url
        return SQLiteLookup(url, table, address, tuple(columns), tuple(indexes), alone, by_index)

    def no_lookup_reason(self, index: IndexInfo) -> str | None:
        if self._is_covering(index):
            return None
        return (
            f"SQLite reads it only together with the rows: CHECK TABLE … INDEX {index.name} checks all of it, in a copy"
        )

    def addresses_are_keys(self, table: Table) -> bool:
        return is_without_rowid(self._endpoint, table) or is_rowid(table)

    def literal(self, column: Column, value: object) -> str | None:
        return literals.of_driver_value(value)

    def canonical(self, column: Column, value: object) -> str | None:
        return decode(scan_column(column).kind, array_of(scan_column(column), [value])).text(0)

    def _finds(self, column: ScanColumn, text: str | None) -> bool:
        is_text = column.column.type.name is TypeName.TEXT and not (text or "").startswith("\0")
        return is_text or super()._finds(column, text)

    def value_path(self, table: Table, key: Sequence[ScanColumn]) -> ScanValues | NotCheckable:
        through = rows_alone(self._endpoint, table)
        path = self._path(table, [scan_column(table.columns[0])], None, through)
        if " USING " in path.evidence:
            return NotCheckable(f"SQLite would not read the table itself: {path.evidence}")
        rules, unchecked_columns = rules_of(self._endpoint, table)
        return ScanValues(
            self._endpoint.reader(),
            _DIALECT,
            table,
            tuple(rules),
            tuple(key),
            () if is_without_rowid(self._endpoint, table) else path.address,
            through,
            through,
            path.evidence,
            f"{self._endpoint.url.redacted()}: ",
            tuple(unchecked_columns),
        )

    def engine_check(self, table: Table, seconds: float) -> EngineCheck:
        return integrity_check(self._endpoint.url, table.name, seconds)

    def inspect(self, names: Collection[TableName] | None) -> list[Inspection]:
        return inspect(self.url, names)

    def close(self) -> None:
        self._imposters.close()
        super().close()


def _reads_alone(index: IndexInfo, step: str) -> bool:
    """True if a step of a plan reads the index and not the table. Names have no quotes there, and may be any text."""
    used = f" {_COVERING} {index.name}"
    # Behind the name of an index in which SQLite searches comes what it searches for.
    return step.endswith(used) or f"{used} (" in step
