"""Reads DuckDB files as Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.decode import decode
from tieout.config.urls import EndpointUrl
from tieout.connectors.duckdb.dialect import DuckDBDialect
from tieout.connectors.duckdb.errors import translated
from tieout.connectors.duckdb.session import connect
from tieout.connectors.protocols.endpoint import Reader, Scan
from tieout.connectors.sql import select
from tieout.connectors.sql.connection_cache import lease
from tieout.model.keys import Key, KeyRange

_DIALECT = DuckDBDialect()
_BATCH = 8192


@dataclass(frozen=True)
class DuckDBReader(Reader):
    url: EndpointUrl

    def read(self, scan: Scan, keys: KeyRange) -> Iterator[pa.RecordBatch]:
        yield from self._batches(select.select(_DIALECT, scan, select.within(_DIALECT, scan, keys)))

    def finds(self, scan: Scan) -> bool:
        return select.finds(_DIALECT, scan)

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        if keys:
            yield from self._batches(select.select(_DIALECT, scan, select.among(_DIALECT, scan, keys)))

    def count(self, scan: Scan, keys: KeyRange) -> int:
        statement = select.count(_DIALECT, scan, select.within(_DIALECT, scan, keys))
        with self._connection() as connection:
            return int(connection.execute(statement).fetchone()[0])

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        """Runs one statement: DuckDB can't read an index in order, so each bound alone would sort the range."""
        order = ", ".join(_DIALECT.quote(c.name) for c in scan.order_columns)
        expressions = f"{select.wires(_DIALECT, scan.order_columns)}, row_number() OVER (ORDER BY {order}) - 1 AS n"
        numbered = select.aggregate(_DIALECT, scan, select.within(_DIALECT, scan, keys), expressions)
        cut = f"SELECT * FROM ({numbered}) WHERE n > 0 AND n % {rows:d} = 0 ORDER BY n LIMIT {most:d}"
        found: list[Key] = []
        for batch in self._batches(cut):
            fields = [decode(c.kind, array) for c, array in zip(scan.order_columns, batch.columns, strict=False)]
            for row in range(batch.num_rows):
                if not all(field.is_exact(row) for field in fields):
                    return found
                found.append(tuple(str(field.text(row)) for field in fields))
        return found

    def activity(self) -> str | None:
        """Returns size and time of the file and of its write-ahead log."""
        marks = []
        for name in (self.url.path or "", f"{self.url.path}.wal"):
            try:
                state = os.stat(name)
                marks.append(f"{state.st_size}@{state.st_mtime_ns}")
            except OSError:
                marks.append("-")
        return " ".join(marks)

    def _batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        with self._connection() as connection:
            yield from batches(connection, statement)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        with translated(self.url), lease(("duckdb", self.url.path), lambda: connect(self.url)) as connection:
            yield connection


def batches(connection: Any, statement: str) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a SELECT."""
    with connection.sql(statement).to_arrow_reader(_BATCH) as reader:
        for batch in reader:
            columns = [_with_infinity(column) for column in batch.columns]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _with_infinity(column: pa.Array) -> pa.Array:
    """Turns a column with infinity into text: DuckDB sends infinity as the last date or timestamp that Arrow has."""
    if pa.types.is_date32(column.type):
        numbers, last, unit = column.cast(pa.int32()), (1 << 31) - 1, "D"
    elif pa.types.is_timestamp(column.type):
        numbers, last, unit = column.cast(pa.int64()), (1 << 63) - 1, column.type.unit
    else:
        return column
    if not pc.any(pc.equal(pc.abs(numbers), last)).as_py():
        return column
    words = {None: None, last: "infinity", -last: "-infinity"}
    texts = np.datetime_as_string(pc.fill_null(numbers, 0).to_numpy().astype(f"datetime64[{unit}]"))
    found = [words.get(n, str(text).replace("T", " ")) for n, text in zip(numbers.to_pylist(), texts, strict=True)]
    return pa.array(found, pa.string())
