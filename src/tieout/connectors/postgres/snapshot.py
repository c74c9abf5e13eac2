"""Reads PostgreSQL on executors: ADBC for rows, psycopg for single values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tieout.codecs.postgres_pages.values import EPOCH_DAYS, EPOCH_MICROS
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.connection import connect, libpq_url, set_path, users_path
from tieout.connectors.postgres.dialect import PostgresDialect, of_users
from tieout.connectors.postgres.errors import translated
from tieout.connectors.protocols.endpoint import HashSpec, Scan
from tieout.connectors.sql import select
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.reader import SqlReader
from tieout.connectors.sql.select import cut
from tieout.model.digests import MODULUS, Digest
from tieout.model.keys import Key, KeyRange

_DIALECT = PostgresDialect()
_WRAPPED_MICROS = -9_000_000_000_000_000_000
_WRAPPED_DAYS = -2_147_000_000


@dataclass(frozen=True)
class PostgresReader(SqlReader):
    url: EndpointUrl
    dialect = _DIALECT

    def lookup(self, scan: Scan, keys: Sequence[Key]) -> Iterator[pa.RecordBatch]:
        # A text in PostgreSQL never contains NUL, so no row has such a key.
        yield from super().lookup(scan, [key for key in keys if not any("\0" in part for part in key)])

    def batches(self, scan: Scan, statement: str) -> Iterator[pa.RecordBatch]:
        with self._connection(of_users(scan), arrow=True) as connection:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                for batch in cursor.fetch_record_batch():
                    yield unwrapped(batch)

    def digest(self, scan: Scan, keys: KeyRange, spec: HashSpec) -> Digest:
        condition = select.within(_DIALECT, scan, keys)
        row = self.first_row(scan, _DIALECT.digest(scan, condition, spec))
        total = sum(int(lane) << (64 * place) for place, lane in enumerate(row[1:]))
        return Digest(int(row[0]), total % MODULUS)

    def bounds(self, scan: Scan, keys: KeyRange, rows: int, most: int) -> list[Key]:
        def next_bound(left: KeyRange) -> Any:
            return connection.execute(select.bound(_DIALECT, scan, left, rows)).fetchone()

        with self._connection(of_users(scan)) as connection:
            return cut(scan, keys, most, next_bound)

    def activity(self) -> str | None:
        current = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END"
        with self._connection(as_users=False) as connection:
            return str(connection.execute(f"SELECT ({current})::text").fetchone()[0])

    def first_row(self, scan: Scan, statement: str) -> Any:
        with self._connection(of_users(scan)) as connection:
            return connection.execute(statement).fetchone()

    @contextmanager
    def _connection(self, as_users: bool, *, arrow: bool = False) -> Iterator[Any]:
        """`as_users`: the server looks up names as it does in a session of this user."""
        address = libpq_url(self.url, "tieout executor")

        def connected() -> Any:
            path = users_path(self.url) if as_users else None
            return self._connect_arrow(address, path) if arrow else self._connect(path)

        with translated(self.url), lease((arrow, as_users, address), connected) as connection:
            yield connection

    def _connect(self, path: str | None) -> Any:
        connection = connect(self.url, "tieout executor")
        _moments_stay_text(connection)
        if path is not None:
            connection.execute(set_path(path))
        return connection

    def _connect_arrow(self, address: str, path: str | None) -> Any:
        from tieout.connectors.postgres.arrow import ArrowConnection

        return ArrowConnection(address, path)


def _moments_stay_text(connection: Any) -> None:
    """Python has no year before 1 or after 9999, and no infinity."""
    from psycopg.types.string import TextLoader

    for name in ("date", "timestamp", "timestamptz"):
        connection.adapters.register_loader(name, TextLoader)


def unwrapped(batch: pa.RecordBatch) -> pa.RecordBatch:
    """ADBC adds the distance between two epochs without a check, so infinity wraps around. This undoes it."""
    columns = []
    for column in batch.columns:
        if pa.types.is_timestamp(column.type) and _lowest(column, pa.int64()) < _WRAPPED_MICROS:
            column = _moments_as_text(column)
        elif pa.types.is_date32(column.type) and _lowest(column, pa.int32()) < _WRAPPED_DAYS:
            column = _days_as_text(column)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _lowest(column: pa.Array, integer: pa.DataType) -> int:
    lowest = pc.min(column.cast(integer)).as_py()
    return 0 if lowest is None else int(lowest)


def _moments_as_text(column: pa.Array) -> pa.Array:
    result: list[str | None] = []
    for value in column.cast(pa.int64()).to_pylist():
        if value is None or value >= _WRAPPED_MICROS:
            result.append(None if value is None else str(np.datetime64(value, "us")).replace("T", " "))
            continue
        micros = (value - EPOCH_MICROS) % (1 << 64)
        if micros in ((1 << 63) - 1, 1 << 63):
            result.append("infinity" if micros < 1 << 63 else "-infinity")
        else:
            result.append(f"{micros} microseconds after 2000-01-01")
    return pa.array(result, pa.string())


def _days_as_text(column: pa.Array) -> pa.Array:
    result: list[str | None] = []
    for value in column.cast(pa.int32()).to_pylist():
        if value is None or value >= _WRAPPED_DAYS:
            result.append(None if value is None else str(np.datetime64(value, "D")))
        else:
            result.append("infinity" if (value - EPOCH_DAYS) % (1 << 32) == (1 << 31) - 1 else "-infinity")
    return pa.array(result, pa.string())
