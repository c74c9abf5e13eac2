"""An SQLite file as a source. It has no change log: our triggers log changes from the start of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.move import TypeChanges
from tieout.connectors.sql.ddl import Structure, Wiring
from tieout.connectors.sql.selection import Selection
from tieout.connectors.sqlite.capture import captured_tables
from tieout.connectors.sqlite.capture.log import SQLiteLog
from tieout.connectors.sqlite.capture.triggers import refused
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.move.chunks import SQLiteChunkSource
from tieout.connectors.sqlite.move.ddl_same_engine import own_structure
from tieout.connectors.sqlite.move.finish import SQLiteFinish
from tieout.errors import UnsupportedError
from tieout.model.moves import Consistency
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention, Severity
from tieout.model.tables import Column, Table, TableName


def open_source(url: EndpointUrl) -> SQLiteSource:
    return SQLiteSource(url)


@dataclass(frozen=True)
class SQLiteSource:
    keeps_position: ClassVar[bool] = True
    logs_generated_columns: ClassVar[bool] = False
    # What lies between two reads of the file is whole transactions, applied as one.
    level: ClassVar[Consistency] = Consistency.TRANSACTION
    type_changes: ClassVar[TypeChanges] = TypeChanges.UNSEEN

    url: EndpointUrl

    def chunk_source(self) -> SQLiteChunkSource:
        return SQLiteChunkSource(self.url)

    def structure(self, table: Table, selection: Selection | None = None) -> Structure:
        with translated(self.url), closing(connect(self.url)) as connection:
            return own_structure(connection, table, selection)

    def wiring(self, table: Table) -> Wiring:
        raise UnsupportedError(f"{table.name}: SQLite tables can be moved only to SQLite")

    def added_column_values(
        self, table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        for column in columns:
            if column.default is not None and ("(" in column.default or column.default.upper().startswith("CURRENT_")):
                name = f"{table.name}: its new column {column.name}"
                raise UnsupportedError(f"{name} has a default that each server computes by itself")
        # A default can't be changed, and the capture has every value that is not the default.
        return {column.name: column.default for column in columns}

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        reasons = ((table, self.refuses(table)) for table in tables)
        fix = "change what it names, or leave the table out"
        return [Problem(Severity.PREVENTS, reason, fix, table=str(table.name)) for table, reason in reasons if reason]

    def retention(self, task: str) -> Retention:
        message = "triggers keep every change in the file until a mover has applied it, and nothing limits that"
        warning = Problem(Severity.NOTE, message, "keep the mover running; tieout task drop removes them")
        kept = SQLiteLog(self.url, task).kept()
        left = None if kept is None else "triggers and tables tieout_…"
        return Retention(left, kept, "nothing limits it", warning=warning)

    def type_catalog(self, task: str) -> None:
        """The log itself reports changed types, or there are none."""

    def collation_of(self, table: Table) -> str | None:
        return None

    def refuses(self, table: Table) -> str | None:
        with translated(self.url), closing(connect(self.url)) as connection:
            return refused(table, lambda statement: connection.execute(statement).fetchall())

    def whole_rows(self, table: Table) -> str | None:
        return None

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        return captured_tables.begin(self.url, task, tables)

    def add_tables(self, task: str, tables: Sequence[TableName]) -> None:
        captured_tables.add(self.url, task, tables)

    def hand_over(self, joining: str, task: str, tables: Sequence[TableName]) -> None:
        """Does nothing: the log says itself how a table changed."""

    def log(self, task: str) -> SQLiteLog:
        return SQLiteLog(self.url, task)

    def catalog(self) -> SQLiteFinish:
        return SQLiteFinish(self.url)

    def drop_task(self, task: str) -> None:
        captured_tables.end(self.url, task)
