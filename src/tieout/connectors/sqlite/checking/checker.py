"""An SQLite file as one who checks it sees it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tieout.config.urls import EndpointUrl
from tieout.connectors import sql
from tieout.connectors.base import Scan, ScanColumn
from tieout.connectors.checking import IndexInfo, Unreadable
from tieout.connectors.scan_path import ScanPath
from tieout.connectors.sqlite.checking.catalog import address_of, indexes_of
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint, open_endpoint
from tieout.model.tables import Table, TableName

_DIALECT = SQLiteDialect()


def open_checker(url: EndpointUrl) -> SQLiteChecker:
    return SQLiteChecker(url, open_endpoint(url))


class SQLiteChecker:
    def __init__(self, url: EndpointUrl, endpoint: SQLiteEndpoint) -> None:
        self.database = Path(url.path or "").stem
        self._endpoint = endpoint

    def tables(self, schema: str | None = None) -> list[TableName]:
        return self._endpoint.tables()

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        return self._endpoint.describe(names)

    def default_schema(self) -> str:
        return self._endpoint.default_schema()

    def indexes(self, table: Table) -> list[IndexInfo]:
        return indexes_of(self._endpoint, table)

    def table_path(self, table: Table, columns: Sequence[ScanColumn]) -> ScanPath | Unreadable:
        return self._path(table, columns, None, "NOT INDEXED")

    def index_path(self, index: IndexInfo) -> ScanPath | Unreadable:
        columns = [column.read for column in index.columns]
        path = self._path(index.table, columns, index.where, f"INDEXED BY {_DIALECT.quote(index.name)}")
        if isinstance(path, ScanPath) and "USING COVERING INDEX" not in path.evidence:
            return Unreadable(f"SQLite would not read it from the index alone: {path.evidence}")
        return path

    def _path(
        self, table: Table, columns: Sequence[ScanColumn], where: str | None, through: str
    ) -> ScanPath | Unreadable:
        address = address_of(self._endpoint, table)
        if not address:
            return Unreadable("each of the names that SQLite has for the rowid is a column of the table")
        scan = Scan(table, (*address, *columns), where=where, through=through)
        plan = self._endpoint.all(f"EXPLAIN QUERY PLAN {sql.select(_DIALECT, scan, '')}")
        return ScanPath(self._endpoint.reader(), scan, len(address), "; ".join(str(row[3]) for row in plan))

    def address_text(self, address: Sequence[str | None]) -> str:
        return ", ".join("NULL" if part is None else part for part in address)

    def close(self) -> None:
        self._endpoint.close()
