"""Reads SQLite files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.sql import select
from tieout.connectors.sql.reader import SqlReader, file_activity
from tieout.connectors.sql.select import cut
from tieout.connectors.sqlite import tab_form
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import translated
from tieout.model.canonical_kinds import Form
from tieout.model.keys import Key, KeyRange
from tieout.model.types import TypeName

_DIALECT = SQLiteDialect()
UNDECLARED = "any"
"""How a column without a type is described: as one of bytes."""
_BATCH, _FIRST_BATCH = 20_000, 8
_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class SQLiteReader(SqlReader):
    url: EndpointUrl
    dialect = _DIALECT
    held: sqlite3.Connection | None = None
    """The connection that sees one snapshot, while `shared_snapshot` holds it."""

    def can_share_snapshot(self, scan: Scan) -> bool:
        return True

    @contextmanager
    def shared_snapshot(self) -> Iterator[SQLiteReader]:
        with translated(self.url), closing(connect(self.url)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # the snapshot is taken at the first read
            yield replace(self, held=connection)

    def batches(self, scan: Scan, statement: str) -> Iterator[pa.RecordBatch]:
        names = [f"c{place}" for place in range(len(scan.columns))]
        with translated(self.url), self._connection() as connection:
            cursor, most = connection.execute(statement), _FIRST_BATCH
            while rows := cursor.fetchmany(most):
                arrays = [array_of(c, list(v)) for c, v in zip(scan.columns, zip(*rows, strict=True), strict=True)]
                batch = pa.RecordBatch.from_arrays(arrays, names=names)
                yield batch
                # The length of rows is unknown until some are read.
                most = max(1, min(_BATCH, 8 * most, _BATCH_BYTES * len(rows) // max(batch.nbytes, 1)))

    def _connection(self) -> AbstractContextManager[sqlite3.Connection]:
        return closing(connect(self.url)) if self.held is None else nullcontext(self.held)

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        return cut(scan, keys, most, lambda left: self.first_row(scan, select.bound(_DIALECT, scan, left, rows)))

    def stored(self, column: ScanColumn, texts: pa.Array) -> pa.Array:
        t = column.column.type
        declared = "" if t.name is TypeName.BINARY and t.native == UNDECLARED else t.native
        values = [None if text is None else tab_form.value_of(text) for text in texts.to_pylist()]
        return array_of(column, tab_form.stored(declared, values))

    def activity(self) -> str | None:
        return file_activity(self.url.path or "", f"{self.url.path}-wal")

    def first_row(self, scan: Scan, statement: str) -> Any:
        with translated(self.url):
            connection = connect(self.url)
            try:
                return connection.execute(statement).fetchone()
            finally:
                connection.close()


def array_of(column: ScanColumn, values: list[Any]) -> pa.Array:
    """Values of any class, as an array that loses nothing.

    The result for a value must not depend on the others in its batch: where numbers may arrive as numbers or as text,
    `decode` turns both into the same.
    """
    if column.classed:
        return tab_form.texts(values)
    form = column.kind.form
    classes = {type(v) for v in values if v is not None}
    if form is Form.BYTES:
        return pa.array([v if v is None or isinstance(v, bytes) else _foreign(v) for v in values], pa.large_binary())
    if form is Form.UUID:
        return _uuids(values)
    if form in (Form.INTEGER, Form.BOOLEAN) and classes <= {int}:
        try:
            return pa.array(values, pa.int64())
        except OverflowError:
            pass
    if form in (Form.FLOAT64, Form.FLOAT32) and classes <= {int, float} and not _finer_than_doubles(column, values):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    # A float as its shortest text: the value means 1.1, not 1.100000000000000088….
    return pa.array([_text(v) for v in values], pa.large_binary())


def _finer_than_doubles(column: ScanColumn, values: list[Any]) -> bool:
    """True if a tolerance applies and there are integers that doubles would round."""
    return column.kind.tolerance is not None and any(isinstance(v, int) and abs(v) > 1 << 53 for v in values)


def _uuids(values: list[Any]) -> pa.Array:
    """Sixteen bytes of a BLOB become hexadecimal digits; sixteen letters of a text stay text."""
    texts = [_text(v.hex() if isinstance(v, bytes) and len(v) == 16 else v) for v in values]
    try:
        return pa.array([None if text is None else text.decode() for text in texts], pa.large_string())
    except UnicodeDecodeError:
        return pa.array(texts, pa.large_binary())


def _text(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return b"\0blob " + value.hex().encode()
    if isinstance(value, float):
        return repr(value).encode()
    text = str(value).encode("utf-8", "surrogateescape")
    # A text that looks like such a mark gets one more NUL, so that it can be told from one.
    return b"\0" + text if text.startswith(b"\0") and text.lstrip(b"\0").startswith(b"blob ") else text


def _foreign(value: Any) -> bytes:
    """A number or a text where bytes are expected gets a mark, so that it differs from its bytes."""
    return b"\0" + type(value).__name__.encode() + b" " + (_text(value) or b"")
