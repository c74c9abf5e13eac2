"""Reads DuckDB files as Arrow."""

from __future__ import annotations

from collections.abc import Iterator
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
from tieout.connectors.protocols.endpoint import Scan
from tieout.connectors.sql import select
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.reader import SqlReader, file_activity
from tieout.model.keys import Key, KeyRange

_DIALECT = DuckDBDialect()
_BATCH = 8192


@dataclass(frozen=True)
class DuckDBReader(SqlReader):
    url: EndpointUrl
    dialect = _DIALECT

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        """Runs one statement: DuckDB can't read an index in order, so each bound alone would sort the range."""
        order = ", ".join(_DIALECT.quote(c.name) for c in scan.order_columns)
        expressions = f"{select.wires(_DIALECT, scan.order_columns)}, row_number() OVER (ORDER BY {order}) - 1 AS n"
        numbered = select.aggregate(_DIALECT, scan, select.within(_DIALECT, scan, keys), expressions)
        cut = f"SELECT * FROM ({numbered}) WHERE n > 0 AND n % {rows:d} = 0 ORDER BY n LIMIT {most:d}"
        found: list[Key] = []
        for batch in self.batches(scan, cut):
            fields = [decode(c.kind, array) for c, array in zip(scan.order_columns, batch.columns, strict=False)]
            for row in range(batch.num_rows):
                if not all(field.is_exact(row) for field in fields):
                    return found
                found.append(tuple(str(field.text(row)) for field in fields))
        return found

    def activity(self) -> str | None:
        return file_activity(self.url.path or "", f"{self.url.path}.wal")

    def batches(self, scan: Scan, statement: str) -> Iterator[pa.RecordBatch]:
        with self._connection() as connection:
            yield from batches(connection, statement)

    def first_row(self, scan: Scan, statement: str) -> Any:
        with self._connection() as connection:
            return connection.execute(statement).fetchone()

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
