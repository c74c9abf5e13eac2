"""PostgreSQL as a source. A task has a slot, for which the server keeps its log, and a publication of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any, ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import OF_SLOTS, translated
from tieout.connectors.postgres.move.chunks import PostgresChunkSource
from tieout.connectors.postgres.move.ddl_same_engine import own_structure
from tieout.connectors.postgres.move.finish import PostgresFinish
from tieout.connectors.postgres.move.preflight import log_problems, retention, table_problems
from tieout.connectors.postgres.move.sequences import wiring
from tieout.connectors.postgres.move.type_catalog import PostgresTypeCatalog
from tieout.connectors.postgres.wal import PostgresLog, slot
from tieout.connectors.protocols.move import TypeChanges
from tieout.connectors.sql.ddl import Structure, Wiring
from tieout.connectors.sql.selection import Selection
from tieout.errors import UnsupportedError
from tieout.model.moves import Consistency
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention
from tieout.model.tables import Column, Table, TableName

# PostgreSQL keeps what rows got in a column that was added apart from the column's default. The partitions of a
# partitioned table have it. A table that was rewritten since has forgotten it.
_MISSING = """
WITH parts AS (SELECT %s::regclass AS oid UNION SELECT relid FROM pg_partition_tree(%s::regclass) WHERE isleaf)
SELECT DISTINCT CASE WHEN a.atttypid = 'bool'::regtype THEN (a.attmissingval::text::bool[])[1]::text
  ELSE quote_literal((a.attmissingval::text::text[])[1]) || '::' || format_type(a.atttypid, a.atttypmod) END
FROM pg_attribute a WHERE a.attrelid IN (SELECT oid FROM parts) AND a.attname = %s AND a.atthasmissing"""

# Large values are stored apart, and an UPDATE that leaves them as they were does not log them.
_LEAVES_OUT = """
SELECT c.relreplident <> 'f' AND EXISTS (SELECT FROM pg_attribute a
  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attstorage <> 'p')
FROM pg_class c WHERE c.oid = %s::regclass"""


def open_source(url: EndpointUrl) -> PostgresSource:
    return PostgresSource(url)


@dataclass(frozen=True)
class PostgresSource:
    keeps_position: ClassVar[bool] = True
    logs_generated_columns: ClassVar[bool] = False
    level: ClassVar[Consistency] = Consistency.TRANSACTION
    type_changes: ClassVar[TypeChanges] = TypeChanges.CATALOG

    url: EndpointUrl

    def chunk_source(self) -> PostgresChunkSource:
        return PostgresChunkSource(self.url)

    def structure(self, table: Table, selection: Selection | None = None) -> Structure:
        key = next((index.name for index in table.indexes if index.unique and index.columns == table.key), None)
        with translated(self.url), connect(self.url, "tieout mover") as connection:
            return own_structure(connection, PostgresDialect().table(table.name), table, key, selection)

    def wiring(self, table: Table) -> Wiring:
        with translated(self.url), connect(self.url, "tieout mover") as connection:
            return wiring(connection, PostgresDialect().table(table.name))

    def added_column_values(
        self, table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        with translated(self.url), connect(self.url, "tieout mover") as connection:
            quoted = PostgresDialect().table(table.name)
            return {column.name: _given(connection, table, quoted, column) for column in columns}

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        with translated(self.url, OF_SLOTS), connect(self.url, "tieout mover") as connection:
            return [
                *log_problems(connection, _name(task)),
                *(problem for table in tables for problem in table_problems(connection, table.name, table.key)),
            ]

    def retention(self, task: str) -> Retention:
        with translated(self.url, OF_SLOTS), connect(self.url, "tieout mover") as connection:
            return retention(connection, _name(task), _name(task))

    def type_catalog(self, task: str) -> PostgresTypeCatalog:
        return PostgresTypeCatalog(self.url, _name(task))

    def collation_of(self, table: Table) -> str | None:
        return None

    def refuses(self, table: Table) -> str | None:
        return None

    def whole_rows(self, table: Table) -> str | None:
        with translated(self.url), connect(self.url, "tieout mover") as connection:
            ((leaves_out,),) = connection.execute(_LEAVES_OUT, [PostgresDialect().table(table.name)]).fetchall()
            return f"ALTER TABLE {quoting.shown(table.name)} REPLICA IDENTITY FULL" if leaves_out else None

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        name = _name(task)
        # An earlier start may have left a slot without storing its position.
        slot.drop(self.url, name, name)
        return slot.create(self.url, name, name, tables)

    def add_tables(self, task: str, tables: Sequence[TableName]) -> None:
        # Whoever creates a slot afterwards waits for the transactions that were open before.
        slot.add_tables(self.url, _name(task), tables)

    def hand_over(self, joining: str, task: str, tables: Sequence[TableName]) -> None:
        slot.hand_over(self.url, _name(joining), _name(task), tables)

    def log(self, task: str) -> PostgresLog:
        return PostgresLog(self.url, _name(task), _name(task))

    def catalog(self) -> PostgresFinish:
        return PostgresFinish(self.url)

    def drop_task(self, task: str) -> None:
        slot.drop(self.url, _name(task), _name(task))


def _name(task: str) -> str:
    """Slot names consist of lower-case letters, digits and _, and are unique in a cluster."""
    kind = "check_" if task.startswith("check:") else ""
    return f"tieout_{kind}{blake2s(task.encode(), digest_size=8).hexdigest()}"


def _given(connection: Any, table: Table, quoted: str, column: Column) -> str | None:
    found = [value for (value,) in connection.execute(_MISSING, [quoted, quoted, column.name]).fetchall()]
    if len(found) == 1:
        return str(found[0])
    if found or (not column.generated and (column.default is not None or not column.nullable)):
        raise UnsupportedError(
            f"{table.name}: the value that existing rows got in the new column {column.name} is unknown"
        )
    return None
