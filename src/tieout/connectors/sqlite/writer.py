"""Writes to SQLite files for repairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Scan
from tieout.connectors.protocols.repair import Reference, Refused
from tieout.connectors.sql import select
from tieout.connectors.sql.dml import RowStatements
from tieout.connectors.sql.session import Purpose
from tieout.connectors.sql.writer import SqlWriter
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.session import SQLiteSession
from tieout.connectors.sqlite.snapshot import array_of
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_DIALECT = SQLiteDialect()
_STATEMENTS = RowStatements(
    _DIALECT,
    opening=("PRAGMA foreign_keys = ON",),
    # Deferred, so that rows that refer to one another can come in any order.
    begin=("BEGIN IMMEDIATE", "PRAGMA defer_foreign_keys = ON"),
    closing=(),
)

_REFERENCES = """
SELECT m.name, f.id, f."from", f."to", f.on_delete FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
WHERE m.type = 'table' AND f."table" = %s COLLATE NOCASE ORDER BY m.name, f.id, f.seq"""


def open_writer(url: EndpointUrl) -> SQLiteWriter:
    # Off by default, and then nothing would prevent dangling references.
    return SQLiteWriter(SQLiteSession(url, Purpose.REPAIR, ["foreign_keys = ON"]))


class SQLiteWriter(SqlWriter):
    def __init__(self, session: SQLiteSession) -> None:
        super().__init__(session, _STATEMENTS)

    def exact(self, column: Column) -> Kind:
        """Values unchanged, whatever the column's declared type."""
        return Kind(Form.BYTES if column.type.name is TypeName.BINARY else Form.OPAQUE)

    def references(self, table: Table) -> Sequence[Reference]:
        grouped: dict[tuple[Any, ...], list[tuple[str, str | None]]] = defaultdict(list)
        for child, number, column, to, rule in self.session.rows(_REFERENCES, [table.name.name]):
            grouped[child, number, rule].append((column, to))
        return [
            Reference(
                f"fk{number}",
                TableName(table.name.schema, child),
                tuple(c for c, _ in pairs),
                # A foreign key without columns refers to the primary key.
                tuple(to or key for (_, to), key in zip(pairs, (*table.key, *[""] * len(pairs)), strict=False)),
                rule,
            )
            for (child, number, rule), pairs in grouped.items()
        ]

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        """Locks nothing: in a transaction, we are the only writer."""
        rows = self.session.rows(select.select(_DIALECT, scan, select.among(_DIALECT, scan, keys)))
        if rows:
            arrays = [array_of(c, list(v)) for c, v in zip(scan.columns, zip(*rows, strict=True), strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=[f"c{place}" for place in range(len(arrays))])

    def begin(self, *, deferred: bool = False) -> None:
        super().begin()
        if deferred:
            self.session.execute("PRAGMA defer_foreign_keys = ON")

    def execute(self, statement: str) -> int:
        try:
            return super().execute(statement)
        finally:
            with suppress(Exception):  # it no longer exists if the whole transaction is rolled back
                self.session.execute("RELEASE SAVEPOINT tieout")

    def commit(self) -> None:
        try:
            super().commit()
        except Refused:
            self.rollback()  # a transaction whose COMMIT was refused stays open
            raise
