"""Writes to MySQL servers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import TOO_LONG, translated
from tieout.connectors.mysql.literals import MySQLChangeDialect
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import connect
from tieout.connectors.mysql.snapshot import zero_moments
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Reference, Refused, Row
from tieout.connectors.sql import dml, select
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.rows_to_arrow import batch_of
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

# An id of 0 is kept, not replaced by the next number; what the source holds of invalid dates is taken as it is.
_MODE = "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"

_KEPT = ("time_zone", "sql_mode", "character_set_client", "character_set_results", "collation_connection")
_OPENING = (
    "SET " + ", ".join(f"@tieout_{name} = @@SESSION.{name}" for name in _KEPT),
    "SET NAMES utf8mb4",
    f"SET SESSION time_zone = '+00:00', sql_mode = {quoting.text(_MODE)}",
)
_CLOSING = ("SET SESSION " + ", ".join(f"{name} = @tieout_{name}" for name in _KEPT),)

_REFERENCES = """
SELECT u.constraint_name, u.table_schema, u.table_name, u.column_name, u.referenced_column_name, r.delete_rule
FROM information_schema.key_column_usage u JOIN information_schema.referential_constraints r
  ON r.constraint_schema = u.constraint_schema AND r.constraint_name = u.constraint_name AND r.table_name = u.table_name
WHERE u.referenced_table_schema = %s AND u.referenced_table_name = %s ORDER BY 2, 3, 1, u.ordinal_position"""

_GRANT = "GRANT the user INSERT, UPDATE and DELETE on the tables to be repaired"
_MOMENTS = {TypeName.INSTANT, TypeName.TIMESTAMP}


def open_writer(url: EndpointUrl) -> MySQLWriter:
    from pymysql.constants import CLIENT

    with translated(url):
        # Rows that were found count as changed, also if they had the values already.
        connection = connect(url, client_flag=CLIENT.FOUND_ROWS)
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION sql_mode = {quoting.text(_MODE)}, innodb_lock_wait_timeout = 5")
            cursor.execute("SELECT VERSION(), @@max_allowed_packet")
            version, most = cursor.fetchone()
        return MySQLWriter(url, connection, Flavour.of(str(version)), int(most))


@dataclass(frozen=True)
class MySQLStatements:
    dialect: MySQLChangeDialect

    def opening(self) -> Sequence[str]:
        return _OPENING

    def begin(self) -> Sequence[str]:
        return ("START TRANSACTION",)

    def closing(self) -> Sequence[str]:
        return _CLOSING

    def insert(self, table: Table, row: Row) -> str:
        return dml.insert(self.dialect, table, row)

    def update(self, table: Table, key: Row, row: Row) -> str:
        # A column may be ON UPDATE CURRENT_TIMESTAMP: told its own value, it stays.
        keep = [c for c in table.columns if c.type.name in _MOMENTS and not c.generated]
        return dml.update(self.dialect, table, key, row, keep=keep)

    def delete(self, table: Table, key: Row, unless: Sequence[Reference] = ()) -> str:
        return dml.delete(self.dialect, table, key, unless)


class MySQLWriter:
    def __init__(self, url: EndpointUrl, connection: Any, flavour: Flavour, most_bytes: int) -> None:
        self.url = url
        self._most_bytes = most_bytes
        self.statements = MySQLStatements(MySQLChangeDialect(flavour))
        self._connection = connection
        self._dialect = _RowDialect(flavour, safe=True)

    def exact(self, column: Column) -> Kind:
        if column.type.name in (TypeName.JSON, TypeName.SET):
            return Kind(Form.TEXT)
        kind = common_kind(column.type, column.type, exact_scale=True)
        assert isinstance(kind, Kind), "a type compares with itself"
        return kind

    def references(self, table: Table) -> Sequence[Reference]:
        grouped: dict[tuple[Any, ...], list[tuple[str, str]]] = defaultdict(list)
        for name, schema, child, column, to, rule in self._all(_REFERENCES, [table.name.schema, table.name.name]):
            grouped[name, schema, child, rule].append((column, to))
        return [
            Reference(name, TableName(schema, child), tuple(c for c, _ in pairs), tuple(t for _, t in pairs), rule)
            for (name, schema, child, rule), pairs in grouped.items()
        ]

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        statement = select.select(self._dialect, scan, select.among(self._dialect, scan, keys))
        try:
            rows = self._all(statement + " FOR UPDATE" if lock else statement)
        except _OutOfRange:
            most = f"{self._most_bytes:,} bytes"
            raise Refused(f"the row holds more than the server's max_allowed_packet ({most}): raise it") from None
        yield zero_moments(scan, batch_of(rows, len(scan.columns)))

    def begin(self, *, deferred: bool = False) -> None:
        self._run("START TRANSACTION")

    def execute(self, statement: str) -> int:
        if len(statement) > self._most_bytes - 1024:
            # Sent all the same, it would cost the connection.
            raise Refused(
                f"the statement has {len(statement):,} bytes, and the server takes {self._most_bytes:,} "
                "(raise its max_allowed_packet)"
            )
        self._run("SAVEPOINT tieout")
        try:
            return self._run(statement)
        except Refused:
            self._run("ROLLBACK TO SAVEPOINT tieout")
            raise

    def commit(self) -> None:
        self._run("COMMIT")

    def rollback(self) -> None:
        with suppress(Exception):
            self._connection.rollback()

    def close(self) -> None:
        with suppress(Exception):
            self._connection.close()

    def _run(self, statement: str) -> int:
        with self._answered(), self._connection.cursor() as cursor:
            return int(cursor.execute(statement))

    def _all(self, statement: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        with self._answered(), self._connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())

    def _answered(self) -> AbstractContextManager[None]:
        """What the server objects to is Refused; what has nothing to do with the statement stays an error."""
        return translated(self.url, _for_repair, lost="the connection was lost")


class _OutOfRange(Refused):
    """A number is; of a row that is read, what its dialect makes the server say of a value that is too long."""


def _for_repair(code: int, meaning: ErrorMeaning, message: str, line: str) -> Exception:
    return _OutOfRange(line) if code == TOO_LONG else meaning.for_repair(message, line, grant=_GRANT)


class _RowDialect(MySQLDialect):
    """What pymysql reads exactly: a FLOAT has six digits as text, and all of them as a DOUBLE."""

    def wire(self, column: ScanColumn, reference: str) -> str:
        if column.column.type.name is TypeName.FLOAT32:
            return f"CAST({reference} AS DOUBLE)"
        return super().wire(column, reference)
