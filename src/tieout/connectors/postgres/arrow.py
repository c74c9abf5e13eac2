"""Reads PostgreSQL's rows as Arrow, through ADBC.

ADBC's `dbapi` does the same, but loads pandas first: a second for every process of Spark. Errors are the driver's, or
Arrow's if they come in the middle of a stream.
"""

from __future__ import annotations

from typing import Any

import adbc_driver_manager
import adbc_driver_postgresql
import pyarrow as pa

from tieout.connectors.postgres.connection import check_settings, set_path


class ArrowConnection:
    """Every statement is a transaction of its own until BEGIN."""

    def __init__(self, address: str, path: str | None = None) -> None:
        """`path` is the search_path for users' own SQL. The driver looks up types at login, without it."""
        self._database = adbc_driver_postgresql.connect(address)
        try:
            self._connection = adbc_driver_manager.AdbcConnection(self._database)
        except BaseException:
            self._database.close()
            raise
        try:
            check_settings(address, self._row)
            if path is not None:
                self._row(set_path(path))
        except BaseException:
            self.close()
            raise

    def _row(self, query: str) -> tuple[Any, ...] | None:
        with self.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchone()

    def cursor(self) -> ArrowCursor:
        return ArrowCursor(self._connection)

    def close(self) -> None:
        self._connection.close()
        self._database.close()


class ArrowCursor:
    """Holds the result of the last statement, until the next one or until it is closed."""

    def __init__(self, connection: adbc_driver_manager.AdbcConnection) -> None:
        self._statement = adbc_driver_manager.AdbcStatement(connection)
        self._stream: Any = None
        self._reader: Any = None

    def __enter__(self) -> ArrowCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self._release()
        self._statement.close()

    def execute(self, statement: str) -> None:
        self._release()
        self._statement.set_sql_query(statement)
        self._stream, _ = self._statement.execute_query()

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        self._reader, self._stream = pa.RecordBatchReader.from_stream(self._stream), None
        return self._reader

    def fetch_arrow_table(self) -> pa.Table:
        return self.fetch_record_batch().read_all()

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row. Reads all the others, too."""
        found = self.fetch_arrow_table()
        return tuple(column[0].as_py() for column in found.columns) if found.num_rows else None

    def _release(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._stream is not None:
            self._stream.release()
        self._reader = self._stream = None
