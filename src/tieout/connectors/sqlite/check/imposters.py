"""A copy of the file in which indexes are tables, so that entries can be read that SQLite would read through the table.

SQLite stores an index and a table WITHOUT ROWID in the same kind of tree. The copy's catalog calls the one the other,
and everything in the tree can be selected, whatever the index was made of. The copy is made page by page, so it has
every fault of the original; and it is a snapshot: the table is read from it, too.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.sql.index_scan import ScanPath
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.snapshot import SQLiteReader
from tieout.model.tables import TableName

_DIALECT = SQLiteDialect()
_BECOME_TABLE = """
UPDATE sqlite_master SET type = 'table', name = ?, tbl_name = ?, sql = ? WHERE type = 'index' AND name = ?"""
_ROWID = -1


class Imposters:
    """Created on first use; `close` removes it."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def reader(self) -> SQLiteReader:
        return SQLiteReader(self._copy())

    def path(self, index: IndexInfo, address: Sequence[ScanColumn]) -> ScanPath:
        """A path through everything in the index. Once for each index."""
        table = f"tieout_{index.name}"
        with translated(self._url), closing(connect(self._copy(), writable=True)) as connection:
            parts = connection.execute(f"PRAGMA main.index_xinfo({_DIALECT.quote(index.name)})").fetchall()
            _disguise(connection, index.name, table, len(parts))
        keys = [part[0] for part in parts if part[5]]
        columns = [_at(place, column.read) for place, column in zip(keys, index.columns, strict=True)]
        own = [_at(_place(column, parts), column) for column in address]
        scan = Scan(replace(index.table, name=TableName("main", table)), (*own, *columns))
        return ScanPath(self.reader(), scan, len(own), f"the tree of {index.name}, in a copy of the file")

    def _copy(self) -> EndpointUrl:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="tieout-check-")
            with translated(self._url), closing(connect(self._url)) as source:
                with closing(sqlite3.connect(f"{self._directory.name}/copy.db")) as copy:
                    source.backup(copy)
        return replace(self._url, path=f"{self._directory.name}/copy.db")

    def close(self) -> None:
        if self._directory is not None:
            self._directory.cleanup()


def _disguise(connection: sqlite3.Connection, index: str, table: str, wide: int) -> None:
    columns = ", ".join(f"c{place}" for place in range(wide))
    definition = f"CREATE TABLE {_DIALECT.quote(table)} ({columns}, PRIMARY KEY ({columns})) WITHOUT ROWID"
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(_BECOME_TABLE, [table, table, definition, index])


def _at(place: int, column: ScanColumn) -> ScanColumn:
    return ScanColumn(replace(column.column, name=f"c{place}"), column.kind)


def _place(column: ScanColumn, parts: Sequence[tuple[Any, ...]]) -> int:
    """The column index in an entry of a column of its address: behind its own columns, unless it is one of them."""
    named = [part[0] for part in parts if part[2] == column.name]
    return int(named[0] if named else [part[0] for part in parts if part[1] == _ROWID][-1])
