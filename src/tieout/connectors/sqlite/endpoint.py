"""An SQLite file: its catalog.

A declared type is hardly binding: values may be of any class.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Capabilities
from tieout.connectors.sql.keys import choose_key
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.snapshot import UNDECLARED, SQLiteReader
from tieout.errors import MissingObjectError
from tieout.model.tables import Column, Constraint, Index, Table, TableName
from tieout.model.types import LogicalType, TypeName

_BY_WORD = [
    (r"BOOL", TypeName.BOOLEAN),
    (r"TIMESTAMPTZ|TIMESTAMP WITH TIME ZONE", TypeName.INSTANT),
    (r"DATETIME|TIMESTAMP", TypeName.TIMESTAMP),
    (r"DATE", TypeName.DATE),
    (r"INTERVAL", TypeName.OPAQUE),
    (r"INT", TypeName.INTEGER),
    (r"YEAR", TypeName.INTEGER),
    (r"TIME", TypeName.TIME),
    (r"JSON", TypeName.JSON),
    (r"UUID", TypeName.UUID),
    (r"CHAR|CLOB|TEXT|STRING|ENUM", TypeName.TEXT),
    (r"BLOB|BINARY|BYTEA", TypeName.BINARY),
    (r"DEC|NUMERIC", TypeName.DECIMAL),
    (r"REAL|FLOA|DOUB", TypeName.FLOAT64),
]


def logical_type(declared: str) -> LogicalType:
    upper = declared.upper()
    for words, name in _BY_WORD:
        if re.search(words, upper):
            if name is TypeName.DECIMAL:
                return _decimal(declared)
            return LogicalType(name, declared)
    # No type, or one that we do not know: SQLite itself stores such values unchanged.
    return LogicalType(TypeName.OPAQUE, declared) if declared else LogicalType(TypeName.BINARY, UNDECLARED)


def _decimal(declared: str) -> LogicalType:
    size = re.search(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", declared)
    if size is None:
        return LogicalType(TypeName.DECIMAL, declared)
    return LogicalType(TypeName.DECIMAL, declared, int(size[1]), int(size[2] or 0))


_SCHEMA = "main"
_DIALECT = SQLiteDialect()


def open_endpoint(url: EndpointUrl) -> SQLiteEndpoint:
    with translated(url):
        connection = connect(url)
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        return SQLiteEndpoint(url, connection)


class SQLiteEndpoint:
    capabilities = Capabilities(family="sqlite", activity=True, writable=True, moves_only_within=True, classed=True)
    version = f"SQLite {sqlite3.sqlite_version}"

    def __init__(self, url: EndpointUrl, connection: sqlite3.Connection) -> None:
        self.url = url
        self._connection = connection

    names_schema = True

    def schemas(self) -> list[str]:
        return [_SCHEMA]

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        """In SQLite each value has its own type, which the column's type has to fit."""
        return column

    def default_schema(self) -> str:
        return _SCHEMA

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        if schemas and _SCHEMA not in schemas:
            return []
        statement = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
        )
        return [TableName(_SCHEMA, name) for (name,) in self.all(statement)]

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        return [self._table(name) for name in names]

    def reader(self) -> SQLiteReader:
        return SQLiteReader(self.url)

    round_trip = 0.0

    def position(self) -> str | None:
        return None

    def close(self) -> None:
        self._connection.close()

    def all(self, statement: str) -> list[tuple[Any, ...]]:
        with translated(self.url):
            return self._connection.execute(statement).fetchall()

    def _table(self, name: TableName) -> Table:
        rows = self.all(f"PRAGMA main.table_xinfo({_DIALECT.quote(name.name)})")
        if not rows:
            raise MissingObjectError(f"{self.url.redacted()}: the file has no table {name.name}", "check its name")
        listed = {row[1]: row for row in self.all("PRAGMA main.table_list")}
        without_rowid, is_strict = map(bool, listed[name.name][4:6]) if name.name in listed else (False, False)
        primary = [row[1] for row in sorted((r for r in rows if r[5]), key=lambda r: r[5])]
        alias = self._rowid_alias(rows, primary, without_rowid)
        columns = tuple(_column(_as_held(row, is_strict), alias, without_rowid) for row in rows if row[6] in (0, 2, 3))
        indexes = [Index("PRIMARY KEY", tuple(primary), True, True)] if primary else []
        indexes += self._indexes(name)
        return Table(name, columns, choose_key(columns, indexes), tuple(indexes), self._foreign_keys(name))

    def _rowid_alias(self, rows: list[tuple[Any, ...]], primary: list[str], without_rowid: bool) -> str | None:
        """The INTEGER PRIMARY KEY: the only column in which SQLite itself allows only integers."""
        if len(primary) != 1 or without_rowid:
            return None
        declared = next(row[2] for row in rows if row[1] == primary[0])
        return primary[0] if declared.upper() == "INTEGER" else None

    def _indexes(self, name: TableName) -> list[Index]:
        found = []
        for _, index, unique, origin, partial in self.all(f"PRAGMA main.index_list({_DIALECT.quote(name.name)})"):
            parts = [row[2] for row in self.all(f"PRAGMA main.index_info({_DIALECT.quote(index)})")]
            if origin != "pk" and None not in parts:
                found.append(Index(index, tuple(parts), bool(unique) and not partial))
        return found

    def _foreign_keys(self, name: TableName) -> tuple[Constraint, ...]:
        rows = self.all(f"PRAGMA main.foreign_key_list({_DIALECT.quote(name.name)})")
        return tuple(Constraint(f"fk{r[0]}", "foreign key", (r[3],), f"references {r[2]}({r[4] or ''})") for r in rows)


def _as_held(row: tuple[Any, ...], is_strict: bool) -> tuple[Any, ...]:
    """The row of a column of the catalog: ANY in a STRICT table holds values as they are, as a column without a type.
    Elsewhere it makes numbers of texts.
    """
    return (*row[:2], "", *row[3:]) if is_strict and row[2].upper() == "ANY" else row


def _column(row: tuple[Any, ...], alias: str | None, without_rowid: bool) -> Column:
    _, name, declared, not_null, default, key_place, hidden = row
    is_alias = name == alias
    kind = LogicalType(TypeName.INTEGER, declared) if is_alias else logical_type(declared)
    # SQLite allows NULLs in a primary key, unless it is the rowid or the table has no rowid.
    nullable = not (not_null or is_alias or (key_place and without_rowid))
    return Column(name, kind, nullable, hidden in (2, 3), default, order="numeric" if is_alias else None)
