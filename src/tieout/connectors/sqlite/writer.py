"""Writes to SQLite files."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Scan
from tieout.connectors.protocols.repair import Reference, Refused, Row, TryAgain
from tieout.connectors.sql import dml, select
from tieout.connectors.sqlite.faults import error_name, translated
from tieout.connectors.sqlite.literals import SQLiteChangeDialect
from tieout.connectors.sqlite.session import connect
from tieout.connectors.sqlite.snapshot import array_of
from tieout.errors import AccessError, WriteError
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import Key
from tieout.model.server_words import told
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_DIALECT = SQLiteChangeDialect()


_REFERENCES = """
SELECT m.name, f.id, f."from", f."to", f.on_delete FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
WHERE m.type = 'table' AND f."table" = ? COLLATE NOCASE ORDER BY m.name, f.id, f.seq"""

_ENDS_IT = ("disk I/O error", "disk is full", "malformed", "not a database", "closed database")


def open_writer(url: EndpointUrl) -> SQLiteWriter:
    with translated(url):
        connection = connect(url, writable=True)
        # Off unless asked for, and then nothing would hold rows that refer to others together.
        connection.execute("PRAGMA foreign_keys = ON")
        return SQLiteWriter(url, connection)


class SQLiteStatements:
    def opening(self) -> Sequence[str]:
        return ("PRAGMA foreign_keys = ON",)

    def begin(self) -> Sequence[str]:
        # Deferred: rows that refer to one another may come in any order.
        return "BEGIN IMMEDIATE", "PRAGMA defer_foreign_keys = ON"

    def closing(self) -> Sequence[str]:
        return ()

    def insert(self, table: Table, row: Row) -> str:
        return dml.insert(_DIALECT, table, row)

    def update(self, table: Table, key: Row, row: Row) -> str:
        return dml.update(_DIALECT, table, key, row)

    def delete(self, table: Table, key: Row, unless: Sequence[Reference] = ()) -> str:
        return dml.delete(_DIALECT, table, key, unless)


class SQLiteWriter:
    def __init__(self, url: EndpointUrl, connection: sqlite3.Connection) -> None:
        self.url = url
        self.statements = SQLiteStatements()
        self._connection = connection

    def exact(self, column: Column) -> Kind:
        """The value as it is, whatever the column was declared as."""
        return Kind(Form.BYTES if column.type.name is TypeName.BINARY else Form.OPAQUE)

    def references(self, table: Table) -> Sequence[Reference]:
        grouped: dict[tuple[Any, ...], list[tuple[str, str | None]]] = defaultdict(list)
        for child, number, column, to, rule in self._all(_REFERENCES, [table.name.name]):
            grouped[child, number, rule].append((column, to))
        return [
            Reference(
                f"fk{number}",
                TableName(table.name.schema, child),
                tuple(c for c, _ in pairs),
                # Without columns it refers to the primary key.
                tuple(to or key for (_, to), key in zip(pairs, (*table.key, *[""] * len(pairs)), strict=False)),
                rule,
            )
            for (child, number, rule), pairs in grouped.items()
        ]

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        """Nothing to lock: a transaction of ours is the only one that writes."""
        rows = self._all(select.select(_DIALECT, scan, select.among(_DIALECT, scan, keys)))
        if rows:
            arrays = [array_of(c, list(v)) for c, v in zip(scan.columns, zip(*rows, strict=True), strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=[f"c{place}" for place in range(len(arrays))])

    def begin(self, *, deferred: bool = False) -> None:
        self._run("BEGIN IMMEDIATE")
        if deferred:
            self._run("PRAGMA defer_foreign_keys = ON")

    def execute(self, statement: str) -> int:
        self._run("SAVEPOINT tieout")
        try:
            return self._run(statement)
        except Refused:
            self._run("ROLLBACK TO SAVEPOINT tieout")
            raise
        finally:
            with suppress(Exception):  # gone, if the whole transaction is
                self._connection.execute("RELEASE SAVEPOINT tieout")

    def commit(self) -> None:
        try:
            self._run("COMMIT")
        except Refused:
            self.rollback()  # a transaction whose COMMIT was refused stays open
            raise

    def rollback(self) -> None:
        with suppress(Exception):
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()

    def _run(self, statement: str) -> int:
        with self._answered():
            return self._connection.execute(statement).rowcount

    def _all(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._answered():
            return self._connection.execute(statement, parameters).fetchall()

    @contextmanager
    def _answered(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            text, said = str(error), told(str(error), error_name(error))
            if "locked" in text or "busy" in text:
                raise TryAgain(said) from None
            if "readonly" in text:
                hint = "let this user write to the file and to its directory"
                raise AccessError(f"{self.url.redacted()}: {said}", hint) from None
            if any(words in text for words in _ENDS_IT):
                raise WriteError(f"{self.url.redacted()}: {said}") from None
            raise Refused(said, collides="UNIQUE constraint" in text) from None
