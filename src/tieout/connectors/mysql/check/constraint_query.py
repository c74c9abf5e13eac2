"""Finds rows of a MySQL server that break constraints, by reading whole tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import connect, plan_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.endpoint import MySQLEndpoint
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.snapshot import zero_moments
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.paths import NotCheckable, OnlyRows, Violations, exact_columns, exact_key
from tieout.connectors.sql import select
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.constraints import ConstraintDialect, ConstraintScan, queries, refusal
from tieout.connectors.sql.rows_to_arrow import batch_of
from tieout.errors import TieoutError
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Table, TableName

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 10_000
_WHOLE = ("ALL", "system")
"""Plan types of a full scan: `system` is a table of MyISAM or Aria with at most one row."""
_EMPTY = ("Impossible WHERE noticed after reading const tables", "no matching row in const table")
"""Plans for such a table without a row: as no index may be used, nothing else is constant."""


@dataclass(frozen=True)
class MySQLQueryRunner:
    """Reads with pymysql: there is little to send, and the meaning of a CHECK depends on the session's settings."""

    url: EndpointUrl
    table: Table

    def rows(self, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
        from pymysql.cursors import SSCursor

        with translated(self.url), lease(("asking", self.url), self.connect) as connection:
            with connection.cursor(SSCursor) as cursor:
                cursor.execute(statement)
                while rows := cursor.fetchmany(_BATCH):
                    yield zero_moments(Scan(self.table, tuple(columns)), batch_of(rows, len(columns)))

    def numbers(self, statement: str) -> tuple[int, int]:
        with translated(self.url), lease(("asking", self.url), self.connect) as connection:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows, broken = cursor.fetchone()
        return int(rows), int(broken)

    def connect(self) -> Any:
        # The catalog escapes texts in expressions with backslashes, so they must be escapes here.
        connection = connect(self.url, settings="sql_mode = 'STRICT_ALL_TABLES'")
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
        return connection


@dataclass(frozen=True)
class MySQLConstraints(ConstraintDialect):
    server_kind: ServerKind

    @property
    def dialect(self) -> MySQLDialect:
        return MySQLDialect(self.server_kind, safe=True)

    def source(self, table: TableName, alias: str | None = None) -> str:
        return f"{self.indexed_source(table, alias)} USE INDEX ()"

    def is_null(self, expression: str) -> str:
        # For a NOT NULL column, the server does not evaluate IS NULL on rows; NULLIF may be NULL for any column.
        return f"(NULLIF({expression}, NULL) IS NULL)"

    def opaque(self, key: str) -> str:
        return f"COALESCE({key})"

    def alike(self, columns: Sequence[ScanColumn], source: str, condition: str, keys: Sequence[str]) -> str:
        # Window functions sort by the first max_sort_length bytes of a value; GROUP BY compares whole values.
        names = [f"tieout_{place}" for place in range(len(keys))]
        groups = self.grouped(
            ", ".join(
                [
                    *(f"{key} AS {name}" for key, name in zip(keys, names, strict=True)),
                    "ROW_NUMBER() OVER () AS tieout_group",
                ]
            ),
            source,
            condition,
            keys,
        )
        same = " AND ".join(f"{key} = tieout.{name}" for key, name in zip(keys, names, strict=True))
        return (
            f"SELECT {select.wires(self.dialect, columns)}, tieout_group FROM {source} "
            f"JOIN ({groups} HAVING COUNT(*) > 1) AS tieout ON {same} WHERE {condition}"
        )


def find_violations(
    endpoint: MySQLEndpoint, constraints: Sequence[ConstraintInfo], only: OnlyRows | None
) -> Violations | NotCheckable:
    (table, *_) = (constraint.table for constraint in constraints)
    names = dict.fromkeys(name for constraint in constraints for name in constraint.columns)
    known = [name for name in names if name in table.column_names]
    scan = ConstraintScan(table, tuple(constraints), (), exact_key(table), tuple(exact_columns(table, known)), only)
    runner = MySQLQueryRunner(endpoint.url, table)
    dialect = MySQLConstraints(endpoint.server_kind)
    if reason := refusal(dialect, scan):
        return NotCheckable(reason)
    found = queries(dialect, scan)
    evidence = "the rows that were asked for"
    if only is None:
        statements = [statement for part in found.parts for statement in (part.probe, part.listing)]
        try:
            evidence = _proven(runner, statements, scan.aliases)
        except TieoutError as error:
            return NotCheckable(str(error))
        except _ReadOtherwise as otherwise:
            return NotCheckable(f"the server would not read the whole tables: {otherwise}")
    return Violations(scan.constraints, runner, scan.address, scan.key, scan.values, found.marks, found.parts, evidence)


class _ReadOtherwise(Exception):
    """The plan does not read the rows themselves."""


def _proven(runner: MySQLQueryRunner, statements: Sequence[str], aliases: Mapping[str, str]) -> str:
    """How the server reads the tables for all of these statements."""
    read: dict[str, None] = {}
    with translated(runner.url), runner.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            for step in plan_of(cursor, statement):
                read.update(dict.fromkeys(_scans(step, aliases)))
    if not read:
        raise _ReadOtherwise("it reads nothing")
    return ", ".join(read)


def _scans(step: dict[str, Any], aliases: Mapping[str, str]) -> Iterator[str]:
    table, how, extra = step["table"], step["type"], str(step["Extra"] or "")
    if table is None:
        if extra not in _EMPTY:
            raise _ReadOtherwise(extra)
        yield "no row"
    elif not str(table).startswith("<"):
        if how not in _WHOLE or step["key"] is not None:
            raise _ReadOtherwise(f"{table} by {how} of {step['key']}")
        yield f"{aliases.get(table, table)} row by row"
