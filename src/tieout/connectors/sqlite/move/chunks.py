"""Reads chunks of SQLite tables. Each has a snapshot of its own, in which is also how far changes were captured."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.move import TextOf, key_scan
from tieout.connectors.sql import copy_text, select
from tieout.connectors.sqlite.capture.log_tables import end
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.session import WAIT_SECONDS
from tieout.connectors.sqlite.tab_form import texts
from tieout.errors import UnsupportedError
from tieout.model.keys import Key, KeyRange
from tieout.model.moves import Held, Transfer
from tieout.model.tables import TableName

_DIALECT = SQLiteDialect()
_ROWS = 5_000


@dataclass(frozen=True)
class SQLiteChunkSource:
    url: EndpointUrl

    @contextmanager
    def reading(self) -> Iterator[SQLiteChunkReader]:
        with translated(self.url), closing(connect(self.url, wait_seconds=WAIT_SECONDS)) as connection:
            connection.execute("BEGIN")
            # The snapshot is taken at this read.
            held = Held(end(lambda statement: connection.execute(statement).fetchall()))
            yield SQLiteChunkReader(self.url, connection, held)

    def texts(self, transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
        return texts_of(transfer)

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        """Only an INTEGER PRIMARY KEY is split into ranges, and its order is known."""
        numbers = [int(bound[0]) for bound in bounds]
        return [bisect_right(numbers, int(key[0])) for key in keys]


@dataclass(frozen=True)
class SQLiteChunkReader:
    url: EndpointUrl
    connection: sqlite3.Connection
    held: Held

    def lines(self, transfer: Transfer, keys: KeyRange, *, same_engine: bool) -> Iterator[bytes]:
        columns = ", ".join(_DIALECT.quote(column.name) for column in transfer.source_columns)
        condition = select.within(_DIALECT, key_scan(transfer), keys)
        statement = f"SELECT {columns} FROM {_DIALECT.table(transfer.source.name)}"
        texts = texts_of(transfer)
        # Here, because the consumer of the lines would take an error for its own.
        with translated(self.url):
            cursor = self.connection.execute(f"{statement} WHERE {condition}" if condition else statement)
            while rows := cursor.fetchmany(_ROWS):
                values = (list(column) for column in zip(*rows, strict=True))
                yield copy_text.lines([text(column) for text, column in zip(texts, values, strict=True)])
            # Without a write-ahead log nobody can write while somebody reads.
            self.connection.execute("COMMIT")


def texts_of(transfer: Transfer) -> Sequence[TextOf]:
    key = {transfer.source_columns[place].name for place in transfer.key}
    return [
        _never_null(transfer.source.name, column.name) if column.name in key else texts
        for column in transfer.source_columns
    ]


def _never_null(table: TableName, column: str) -> TextOf:
    """SQLite allows NULL in a key, in any number of rows."""

    def of_key(values: list[object]) -> pa.Array:
        if None in values:
            raise UnsupportedError(
                f"{table}: {column} is part of the key and NULL in a row, so nothing identifies that row"
            )
        return texts(values)

    return of_key
