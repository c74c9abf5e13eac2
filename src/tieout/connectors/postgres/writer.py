"""Changes rows of PostgreSQL tables for a repair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import set_path, users_path
from tieout.connectors.postgres.dialect import PostgresChangeDialect, PostgresDialect, of_users
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.literals import MOMENTS, from_postgres
from tieout.connectors.postgres.session import PostgresSession, repair_session
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Reference, Refused, Row
from tieout.connectors.sql import dml, select
from tieout.connectors.sql.rows_to_arrow import batch_of
from tieout.connectors.sql.writer import SqlWriter
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_SESSION = {
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "iso_8601",
    "lc_monetary": "C",
    "array_nulls": "on",
    "xmloption": "content",
    # The statements name the schemas of everything but the server's own objects.
    "search_path": "pg_catalog",
    # A policy that hides rows from whoever runs the file is an error, not a change that silently does nothing.
    "row_security": "off",
}
"""Settings for a file of statements, whoever runs it."""

_REFERENCES = """
SELECT c.conname, n.nspname, t.relname, c.confdeltype::text,
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum)
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_class p ON p.oid = c.confrelid JOIN pg_namespace q ON q.oid = p.relnamespace
WHERE c.contype = 'f' AND c.conparentid = 0 AND q.nspname = %s AND p.relname = %s ORDER BY 2, 3, 1"""

_RULES = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


def open_writer(url: EndpointUrl) -> PostgresWriter:
    with translated(url):
        return PostgresWriter(repair_session(url), users_path(url))


class PostgresStatements(dml.RowStatements):
    def insert(self, table: Table, row: Row) -> str:
        # Otherwise a column GENERATED ALWAYS AS IDENTITY accepts no value; without such a column it has no effect.
        return dml.insert(self.dialect, table, row, override="OVERRIDING SYSTEM VALUE ")


_STATEMENTS = PostgresStatements(
    PostgresChangeDialect(),
    opening=[f"SET {name} = {quoting.text(value)}" for name, value in _SESSION.items()],
    begin=("BEGIN", "SET CONSTRAINTS ALL DEFERRED"),
    closing=[f"RESET {name}" for name in _SESSION],
)


class PostgresWriter(SqlWriter):
    """Statements that change rows run with the user's search_path, which the table's triggers and constraints need.

    Other statements do not, unless they contain users' SQL.
    """

    def __init__(self, session: PostgresSession, path: str) -> None:
        super().__init__(session, _STATEMENTS)
        self._path = path
        self._dialect = _RowDialect()

    def exact(self, column: Column) -> Kind:
        if column.type.name is TypeName.JSON:
            return Kind(Form.TEXT)
        if column.type.name is TypeName.ARRAY:
            return Kind(Form.OPAQUE)
        kind = common_kind(column.type, column.type, exact_scale=True)
        assert isinstance(kind, Kind), "a type compares with itself"
        return kind

    def references(self, table: Table) -> Sequence[Reference]:
        return [
            Reference(name, TableName(schema, child), tuple(columns), tuple(to), _RULES[rule])
            for name, schema, child, rule, columns, to in self.session.rows(
                _REFERENCES, [table.name.schema, table.name.name]
            )
        ]

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        statement = select.select(self._dialect, scan, select.among(self._dialect, scan, keys))
        with self._as_users() if of_users(scan) else nullcontext():
            rows = self.session.rows(statement + " FOR UPDATE" if lock else statement)
        moments = {place for place, column in enumerate(scan.columns) if column.column.type.name in MOMENTS}
        if moments:
            rows = [tuple(_moment(v) if place in moments else v for place, v in enumerate(row)) for row in rows]
        yield batch_of(rows, len(scan.columns))

    def begin(self, *, deferred: bool = False) -> None:
        super().begin()
        # Checked immediately, a constraint names the statement that violates it; at the end it would name none.
        self.session.execute(f"SET CONSTRAINTS ALL {'DEFERRED' if deferred else 'IMMEDIATE'}")

    def execute(self, statement: str) -> int:
        # A rollback to the savepoint restores the search_path, too.
        self.session.execute(f"SAVEPOINT tieout; {set_path(self._path)}")
        try:
            changed = self.session.execute(statement)
        except Refused:
            self.session.execute("ROLLBACK TO SAVEPOINT tieout")
            raise
        self.session.execute(f"RELEASE SAVEPOINT tieout; {set_path()}")
        return changed

    def commit(self) -> None:
        self.session.execute(set_path(self._path))  # deferred constraints and triggers run now
        super().commit()
        self.session.execute(set_path())

    @contextmanager
    def _as_users(self) -> Iterator[None]:
        self.session.execute(set_path(self._path))
        try:
            yield
        finally:
            # A failed transaction accepts no statement; its rollback restores the path.
            with suppress(Exception):
                self.session.execute(set_path())


class _RowDialect(PostgresDialect):
    """Values as text: psycopg has no date for infinity, for years before Christ and beyond 9999."""

    def wire(self, column: ScanColumn, reference: str) -> str:
        name = column.column.type.name
        if name in (TypeName.BINARY, TypeName.BOOLEAN):
            return reference
        if name in (TypeName.FLOAT32, TypeName.FLOAT64):
            return f"({reference})::float8::text"
        return f"({super().wire(column, reference)})::text"


def _moment(value: Any) -> Any:
    return from_postgres(value) if isinstance(value, str) else value
