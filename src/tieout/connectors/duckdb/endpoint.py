"""Reads the catalog of a DuckDB file."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.duckdb import quoting
from tieout.connectors.duckdb.errors import translated
from tieout.connectors.duckdb.session import FILE, connect
from tieout.connectors.duckdb.snapshot import DuckDBReader
from tieout.connectors.duckdb.types import logical_type, order_of
from tieout.connectors.protocols.endpoint import Capabilities
from tieout.connectors.sql.keys import choose_key
from tieout.errors import MissingObjectError
from tieout.model.tables import Column, Constraint, Index, Table, TableName
from tieout.model.types import TypeName

_SCHEMA = "main"
_SCHEMAS = "SELECT schema_name FROM duckdb_schemas() WHERE database_name = ? ORDER BY 1"
_TABLES = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal ORDER BY 1, 2"
_TABLE = """
SELECT estimated_size, sql LIKE '% COLLATE %' FROM duckdb_tables()
WHERE database_name = ? AND schema_name = ? AND table_name = ?"""
_COLUMNS = """
SELECT column_name, data_type, is_nullable, is_generated, column_default FROM duckdb_columns()
WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index"""
_CONSTRAINTS = """
SELECT constraint_name, constraint_type, constraint_column_names, constraint_text FROM duckdb_constraints()
WHERE database_name = ? AND schema_name = ? AND table_name = ? AND constraint_type <> 'NOT NULL'
ORDER BY constraint_index"""
_UNIQUE_INDEXES = """
SELECT index_name, expressions FROM duckdb_indexes()
WHERE database_name = ? AND schema_name = ? AND table_name = ? AND is_unique ORDER BY 1"""
# A list of SQL as text: [a, '"b c"', 'lower(d)'].
_EXPRESSION = re.compile(r"'([^']*)'|([^][,' ]+)")
_COLLATED = "not binary"


def open_endpoint(url: EndpointUrl) -> DuckDBEndpoint:
    began = time.monotonic()
    with translated(url), closing(connect(url)) as connection:
        connection.execute("SELECT 1").fetchone()
    return DuckDBEndpoint(url, f"DuckDB {version('duckdb')}", time.monotonic() - began)


@dataclass(frozen=True)
class DuckDBEndpoint:
    """Connects for each query: an open connection would lock writers out."""

    url: EndpointUrl
    version: str
    round_trip: float
    capabilities = Capabilities(family="duckdb", activity=True, writable=True)

    names_schema = False

    def schemas(self) -> list[str]:
        with self._connection() as connection:
            return [schema for (schema,) in connection.execute(_SCHEMAS, [FILE]).fetchall()]

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        statement = f"DESCRIBE SELECT ({expression}\n) AS c FROM {quoting.table(table.name)}"
        with self._connection() as connection:
            declared = connection.execute(statement).fetchall()[0][1]
            return Column(column.name, logical_type(connection.type(declared)))

    def default_schema(self) -> str:
        return _SCHEMA

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        with self._connection() as connection:
            names = [TableName(*row) for row in connection.execute(_TABLES, [FILE]).fetchall()]
        return [name for name in names if name.schema in (schemas or (_SCHEMA,))]

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        with self._connection() as connection:
            return [self._table(connection, name) for name in names]

    def reader(self) -> DuckDBReader:
        return DuckDBReader(self.url)

    def position(self) -> str | None:
        return None

    def close(self) -> None:
        """Nothing stays open."""

    def _table(self, connection: Any, name: TableName) -> Table:
        place = [FILE, name.schema, name.name]
        found = connection.execute(_TABLE, place).fetchone()
        if found is None:
            raise MissingObjectError(f"{self.url.redacted()}: there is no table {name}", "check its name")
        rows, collated = found
        columns = tuple(_column(connection, row, collated) for row in connection.execute(_COLUMNS, place).fetchall())
        constraints = connection.execute(_CONSTRAINTS, place).fetchall()
        indexes = [
            Index(constraint, tuple(parts), True, kind == "PRIMARY KEY")
            for constraint, kind, parts, _ in constraints
            if kind in ("PRIMARY KEY", "UNIQUE")
        ]
        for index, expressions in connection.execute(_UNIQUE_INDEXES, place).fetchall():
            parts = [quoted.strip('"') or plain for quoted, plain in _EXPRESSION.findall(expressions)]
            if set(parts) <= {column.name for column in columns}:
                indexes.append(Index(index, tuple(parts), True))
        others = tuple(
            Constraint(constraint, kind.lower(), tuple(parts), text)
            for constraint, kind, parts, text in constraints
            if kind in ("FOREIGN KEY", "CHECK")
        )
        return Table(name, columns, choose_key(columns, indexes), tuple(indexes), others, estimated_rows=rows)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        with translated(self.url), closing(connect(self.url)) as connection:
            yield connection


def _column(connection: Any, row: tuple[Any, ...], collated: bool) -> Column:
    """`collated`: some column of the table has a collation. The catalog does not say which one."""
    name, declared, nullable, generated, default = row
    logical = logical_type(connection.type(declared))
    collation = _COLLATED if collated and logical.name is TypeName.TEXT else None
    order = None if collation else order_of(logical)
    return Column(name, logical, nullable, generated, None if generated else default, collation, order=order)
