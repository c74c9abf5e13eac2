"""Changes rows of MySQL servers for a repair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import WRITING_MODE, MySQLSession, ValueTooLong
from tieout.connectors.mysql.snapshot import zero_moments
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Reference, Refused, Row
from tieout.connectors.sql import dml, select
from tieout.connectors.sql.rows_to_arrow import batch_of
from tieout.connectors.sql.session import Purpose
from tieout.connectors.sql.writer import SqlWriter
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_KEPT = ("time_zone", "sql_mode", "character_set_client", "character_set_results", "collation_connection")
_OPENING = (
    "SET " + ", ".join(f"@tieout_{name} = @@SESSION.{name}" for name in _KEPT),
    "SET NAMES utf8mb4",
    f"SET SESSION time_zone = '+00:00', sql_mode = {quoting.text(WRITING_MODE)}",
)
_CLOSING = ("SET SESSION " + ", ".join(f"{name} = @tieout_{name}" for name in _KEPT),)

_REFERENCES = """
SELECT u.constraint_name, u.table_schema, u.table_name, u.column_name, u.referenced_column_name, r.delete_rule
FROM information_schema.key_column_usage u JOIN information_schema.referential_constraints r
  ON r.constraint_schema = u.constraint_schema AND r.constraint_name = u.constraint_name AND r.table_name = u.table_name
WHERE u.referenced_table_schema = %s AND u.referenced_table_name = %s ORDER BY 2, 3, 1, u.ordinal_position"""

_MOMENTS = {TypeName.INSTANT, TypeName.TIMESTAMP}


def open_writer(url: EndpointUrl) -> MySQLWriter:
    session = MySQLSession(url, Purpose.REPAIR)
    ((version, most),) = session.rows("SELECT VERSION(), @@max_allowed_packet")
    return MySQLWriter(session, ServerKind.of(str(version)), int(most))


@dataclass(frozen=True)
class MySQLStatements(dml.RowStatements):
    dialect: MySQLDialect

    def update(self, table: Table, key: Row, row: Row) -> str:
        # A column may be ON UPDATE CURRENT_TIMESTAMP: assigned its own value, it stays.
        keep = [c for c in table.columns if c.type.name in _MOMENTS and not c.generated]
        return dml.update(self.dialect, table, key, row, keep=keep)


class MySQLWriter(SqlWriter):
    session: MySQLSession
    statements: MySQLStatements

    def __init__(self, session: MySQLSession, server_kind: ServerKind, most_bytes: int) -> None:
        """`most_bytes`: the server's max_allowed_packet."""
        super().__init__(
            session, MySQLStatements(MySQLDialect(server_kind), _OPENING, ("START TRANSACTION",), _CLOSING)
        )
        self.url = session.url
        self.server_kind = server_kind
        self.most_bytes = most_bytes
        self._dialect = _RowDialect(server_kind, safe=True)

    def exact(self, column: Column) -> Kind:
        if column.type.name in (TypeName.JSON, TypeName.SET):
            return Kind(Form.TEXT)
        kind = common_kind(column.type, column.type, exact_scale=True)
        assert isinstance(kind, Kind), "a type compares with itself"
        return kind

    def references(self, table: Table) -> Sequence[Reference]:
        grouped: dict[tuple[Any, ...], list[tuple[str, str]]] = defaultdict(list)
        for name, schema, child, column, to, rule in self.session.rows(
            _REFERENCES, [table.name.schema, table.name.name]
        ):
            grouped[name, schema, child, rule].append((column, to))
        return [
            Reference(name, TableName(schema, child), tuple(c for c, _ in pairs), tuple(t for _, t in pairs), rule)
            for (name, schema, child, rule), pairs in grouped.items()
        ]

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        statement = select.select(self._dialect, scan, select.among(self._dialect, scan, keys))
        try:
            rows = self.session.rows(statement + " FOR UPDATE" if lock else statement)
        except ValueTooLong:
            most = f"{self.most_bytes:,} bytes"
            raise Refused(f"the row is longer than the server's max_allowed_packet ({most}): raise it") from None
        yield zero_moments(scan, batch_of(rows, len(scan.columns)))

    def execute(self, statement: str) -> int:
        if len(statement) > self.most_bytes - 1024:
            # The server would close the connection.
            raise Refused(
                f"the statement has {len(statement):,} bytes, but the server accepts {self.most_bytes:,} "
                "(raise its max_allowed_packet)"
            )
        return super().execute(statement)


class _RowDialect(MySQLDialect):
    """Renders what pymysql reads exactly: as text, a FLOAT has six digits; as a DOUBLE, all of them."""

    def wire(self, column: ScanColumn, reference: str) -> str:
        if column.column.type.name is TypeName.FLOAT32:
            return f"CAST({reference} AS DOUBLE)"
        return super().wire(column, reference)
