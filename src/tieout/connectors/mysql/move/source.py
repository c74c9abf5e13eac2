"""A MySQL server as a source. It keeps its log by itself, as long as it was told to, and for nobody in particular."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import BinlogLog
from tieout.connectors.mysql.binlog.continuity import proven
from tieout.connectors.mysql.binlog.dump import NotThere
from tieout.connectors.mysql.binlog.server import global_variables
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.move import retention, watermarks
from tieout.connectors.mysql.move.added_column_defaults import given
from tieout.connectors.mysql.move.chunks import MySQLChunkSource
from tieout.connectors.mysql.move.ddl_same_engine import own_structure
from tieout.connectors.mysql.move.preflight import source_problems
from tieout.connectors.mysql.move.wiring import wiring
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import connect
from tieout.connectors.sql.ddl import Structure, Wiring
from tieout.model.moves import Consistency
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention, Severity
from tieout.model.tables import Column, Table, TableName

_TRANSACTIONAL = {"InnoDB", "ROCKSDB"}
_NO_ROWS = {"RESTRICT", "NO ACTION"}


def open_source(url: EndpointUrl) -> MySQLSource:
    with translated(url), closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        return MySQLSource(url, Flavour.of(str(cursor.fetchone()[0])))


@dataclass(frozen=True)
class MySQLSource:
    keeps_position: ClassVar[bool] = False
    tells_generated: ClassVar[bool] = True
    tells_all: ClassVar[bool] = True
    level: ClassVar[Consistency] = Consistency.TRANSACTION

    url: EndpointUrl
    flavour: Flavour

    def chunk_source(self) -> MySQLChunkSource:
        return MySQLChunkSource(self.url, self.flavour, self._watermarks)

    @property
    def _watermarks(self) -> bool:
        return self.flavour is not Flavour.MARIADB

    def structure(self, table: Table) -> Structure:
        key = next((index.name for index in table.indexes if index.unique and index.columns == table.key), None)
        with translated(self.url), closing(connect(self.url)) as connection, connection.cursor() as cursor:
            cursor.execute(f"SHOW CREATE TABLE {MySQLDialect(self.flavour).table(table.name)}")
            return own_structure(str(cursor.fetchone()[1]), table.name, key)

    def wiring(self, table: Table) -> Wiring:
        with translated(self.url), closing(connect(self.url)) as connection, connection.cursor() as cursor:
            return wiring(cursor, table.name)

    def given(
        self, table: Table, columns: Sequence[Column], told: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        return given(table, columns, told)

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        found = source_problems(self.url, self.flavour, tables, watermarks=self._watermarks)
        reasons = ((table, self.refuses(table)) for table in tables)
        fix = "repair it, or leave the table out"
        return found + [
            Problem(Severity.PREVENTS, reason, fix, table=str(table.name)) for table, reason in reasons if reason
        ]

    def retention(self, task: str) -> Retention:
        with translated(self.url), closing(connect(self.url)) as connection:
            left = f"the table {watermarks.TABLE}" if self._watermarks else None
            return retention.retention(global_variables(connection, retention.SETTINGS), left)

    def refuses(self, table: Table) -> str | None:
        if table.engine not in _TRANSACTIONAL:
            return f"it is kept by {table.engine}, of which no snapshot can be taken: ALTER TABLE … ENGINE = InnoDB"
        if self._watermarks and not table.key:
            # What a chunk holds of the time between two watermarks is applied again: without a key it would come twice.
            return "it has no key, and this server does not tell where a snapshot lies in its log: give it one"
        for reference in self.wiring(table).references:
            if {reference.on_delete.upper(), reference.on_update.upper()} - _NO_ROWS:
                # InnoDB changes the child's rows by itself, below the log.
                return f"what its foreign key {reference.name} changes in it is not in the binary log"
        return None

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        # Not the log's end: what is there already, and not yet visible, is in no chunk.
        with self.chunk_source().reading() as reader:
            begin = reader.held.position
        with suppress(NotThere):
            return proven(self.url, begin)
        return begin

    def log(self, task: str) -> BinlogLog:
        return BinlogLog(self.url)

    def drop_task(self, task: str) -> None:
        if self._watermarks:
            with translated(self.url), closing(connect(self.url)) as connection:
                watermarks.drop(connection)
