"""Writes to DuckDB files for repairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.duckdb.dialect import DuckDBDialect
from tieout.connectors.duckdb.errors import translated
from tieout.connectors.duckdb.session import FILE, close_writer, connect
from tieout.connectors.duckdb.snapshot import batches
from tieout.connectors.duckdb.types import is_nested
from tieout.connectors.protocols.endpoint import Scan
from tieout.connectors.protocols.repair import Reference, Refused
from tieout.connectors.sql import select
from tieout.connectors.sql.dml import RowStatements
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_DIALECT = DuckDBDialect()
# A transaction that has deleted the rows that refer to a row can't delete the row itself.
_BETWEEN = ["COMMIT", "BEGIN TRANSACTION"]
_STATEMENTS = RowStatements(_DIALECT, ["SET TimeZone = 'UTC'"], ["BEGIN TRANSACTION"], ["RESET TimeZone"], _BETWEEN)
_REFERENCES = """
SELECT constraint_name, schema_name, table_name, constraint_column_names, referenced_column_names
FROM duckdb_constraints()
WHERE database_name = ? AND schema_name = ? AND referenced_table = ? AND constraint_type = 'FOREIGN KEY'"""


def open_writer(url: EndpointUrl) -> DuckDBWriter:
    with translated(url):
        return DuckDBWriter(url, connect(url, writable=True))


class DuckDBWriter:
    """Locks the file until it is closed; readers of this process use its connection."""

    def __init__(self, url: EndpointUrl, connection: Any) -> None:
        self.url = url
        self.statements = _STATEMENTS
        self._connection = connection
        self._done: list[str] = []
        """The statements that succeeded in this transaction."""

    def exact(self, column: Column) -> Kind:
        """Uses DuckDB's own text; but only the JSON of a map has the order of its keys."""
        if column.type.name is TypeName.BINARY:
            return Kind(Form.BYTES)
        return Kind(Form.TEXT if is_nested(column.type) else Form.OPAQUE)

    def references(self, table: Table) -> Sequence[Reference]:
        """DuckDB's foreign keys refer only to the same schema, and never delete rows."""
        with translated(self.url, repair=True):
            found = self._connection.execute(_REFERENCES, [FILE, table.name.schema, table.name.name]).fetchall()
        return [
            Reference(name, TableName(schema, child), tuple(columns), tuple(to), "NO ACTION")
            for name, schema, child, columns, to in found
        ]

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        """Locks nothing: no other process can open the file."""
        if keys:
            with translated(self.url, repair=True):
                yield from batches(self._connection, select.select(_DIALECT, scan, select.among(_DIALECT, scan, keys)))

    def begin(self, *, deferred: bool = False) -> None:
        self._done = []
        self._run("BEGIN TRANSACTION")

    def execute(self, statement: str) -> int:
        """Runs the earlier statements again after an error: DuckDB has no savepoints and ends the transaction."""
        try:
            changed = self._run(statement)
        except Refused:
            self.rollback()
            for earlier in ("BEGIN TRANSACTION", *self._done):
                self._run(earlier)
            raise
        self._done.append(statement)
        return changed

    def commit(self) -> None:
        try:
            self._run("COMMIT")
        except Refused:
            self.rollback()
            raise

    def rollback(self) -> None:
        with suppress(Exception):
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(Exception):
            close_writer(self.url, self._connection)

    def _run(self, statement: str) -> int:
        with translated(self.url, repair=True):
            answer = self._connection.execute(statement).fetchone()
            return int(answer[0]) if answer else 0
