"""A MySQL server as a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.move.ddl_from_other_engine import declared, structure_of
from tieout.connectors.mysql.move.ddl_wider_columns import widening
from tieout.connectors.mysql.move.finish import MySQLFinish
from tieout.connectors.mysql.move.loader import CLOCK, TRANSACTIONAL, MySQLLoader, build
from tieout.connectors.mysql.move.preflight import target_problems
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.move import Destination, StageTable
from tieout.connectors.sql.ddl import TABLE, Built, Structure, UnsupportedColumn, Wiring
from tieout.connectors.sql.internal_tables import PREFIX
from tieout.connectors.sql.last_rows import LastRows
from tieout.connectors.sql.progress_layout import create_tables
from tieout.connectors.sql.session import Purpose
from tieout.connectors.sql.table_versions import create_view
from tieout.connectors.sql.target import (
    COPIES,
    EXISTED,
    GOES,
    KEPT,
    KIND,
    PIECE,
    SHARE,
    STAYS,
    SqlTarget,
    comes_later,
    of_share,
)
from tieout.errors import UnsupportedError
from tieout.model.levels import TargetLevel
from tieout.model.moves import Transfer
from tieout.model.preflight import Problem, Severity
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_NAME = "VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_LONG = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_ROW = "_tieout_row"
_BY_BYTES = {TypeName.TEXT, TypeName.CHAR, TypeName.JSON, TypeName.ENUM, TypeName.SET}

_INDEXES = "SELECT index_name FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s"
_MADE = "SELECT table_name, create_time FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_RUNNING = "SHOW GLOBAL STATUS WHERE variable_name IN ('Threads_running', 'Slaves_connected')"
_UNIQUE = """
SELECT index_name, column_name FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s AND non_unique = 0"""
_CONSTRAINTS = """
SELECT constraint_name FROM information_schema.table_constraints WHERE table_schema = %s AND table_name = %s"""


def open_target(url: EndpointUrl) -> MySQLTarget:
    return MySQLTarget(url)


class MySQLTarget(SqlTarget):
    same: ClassVar[str] = "<=>"
    shared_lock: ClassVar[str] = "LOCK IN SHARE MODE"

    def __init__(self, url: EndpointUrl) -> None:
        super().__init__(lambda: MySQLSession(url, Purpose.MOVE), url.database or "", CLOCK)
        self.url = url

    def level_of(self, table: Table | None) -> TargetLevel:
        if table is not None and table.engine not in TRANSACTIONAL:
            return TargetLevel.UNIQUE_KEY
        return super().level_of(table)

    def prepare(self) -> None:
        create_tables(self.progress, _NAME, _LONG, self.tables_like(PREFIX))
        # In UTC, whatever the zone of the reader's session is.
        create_view(
            self.session, self.schema, lambda at: f"TIMESTAMPADD(MICROSECOND, {at}, TIMESTAMP'1970-01-01 00:00:00')"
        )

    def problems(self, destinations: Sequence[Destination]) -> list[Problem]:
        with closing(MySQLSession(self.url, Purpose.MOVE)) as session:
            return target_problems(session, self.schema, destinations)

    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
        return structure_of(table, wiring)

    def declared(self, table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]:
        return declared(table, names)

    def widening(self, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> list[str]:
        ((_, shown),) = self.session.rows(f"SHOW CREATE TABLE {self.session.table(table.name)}")
        return [widening(str(shown), table, source, names, same_engine=same_engine)]

    def missing_types(self, types: Sequence[str]) -> list[str]:
        return list(types)  # MySQL has no user-defined types

    def built(self, table: TableName) -> Built:
        wanted = [table.schema, table.name]
        indexes, constraints = (self.session.rows(statement, wanted) for statement in (_INDEXES, _CONSTRAINTS))
        return Built(frozenset(name for (name,) in indexes), frozenset(name for (name,) in constraints))

    def unique_indexes(self, table: TableName) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for index, column in self.session.rows(_UNIQUE, [table.schema, table.name]):
            found.setdefault(index, []).append(column)
        return found

    def merge_beside_others(self) -> None:
        """Keeps a merge from locking the gaps between rows, into which other lanes insert theirs."""
        ((format_,),) = self.session.rows("SELECT @@SESSION.binlog_format")
        if format_ != "STATEMENT":  # with that, the server refuses writes at this level
            self.session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def load_problem(self) -> None:
        """Any user may read the server's status."""

    def lag_problem(self) -> Problem:
        # Only a replica's own SHOW REPLICA STATUS has the lag; the primary's SHOW REPLICA HOSTS has names.
        message = "a MariaDB or MySQL server does not know how far behind its replicas are (max_replica_lag)"
        return Problem(Severity.PREVENTS, message, "leave max_replica_lag out; max_rows_per_second limits the rate")

    def load(self) -> int:
        status = dict(self.session.rows(_RUNNING))
        # The threads that send the log to replicas run all the time.
        return int(status["Threads_running"]) - int(status.get("Slaves_connected", 0)) - 1

    def replica_lag(self) -> float:
        raise UnsupportedError(self.lag_problem().message, self.lag_problem().fix)

    def last_rows(self) -> LastRows:
        return LastRows(self.session, self.progress, self)

    def made(self, tables: Sequence[TableName]) -> dict[TableName, str]:
        found = {}
        for table in tables:
            names = dict(self.session.rows(_MADE, [table.schema, table.name]))
            if table.name in names:  # not a table whose name differs in case
                found[table] = str(names[table.name])
        return found

    def row_hash(self, columns: Sequence[str], row: str) -> str:
        # Each column by itself: the text of all could exceed the longest that the server allows, and would be NULL.
        values = ", ".join(f"COALESCE(SHA2({row}.{self.session.quote(column)}, 256), '')" for column in columns)
        return f"SHA2(CONCAT_WS(',', {values}), 256)"

    def finisher(self) -> MySQLFinish:
        return MySQLFinish(self.url, self.run)

    def loader(self) -> MySQLLoader:
        return MySQLLoader(self.url)

    def create_stage(self, stage: StageTable) -> None:
        transfer, table = stage.transfer, self.session.table(stage.name)
        # After a crash, the mover reads the log again, so a stage needs no engine that survives one.
        self.session.execute(
            f"CREATE TABLE {table} ({KIND} TINYINT, {PIECE} INT, {COPIES} BIGINT, "
            f"{KEPT} {_LONG}, {SHARE} SMALLINT, {EXISTED} TINYINT, "
            f"{_ROW} BIGINT AUTO_INCREMENT PRIMARY KEY) ENGINE = Aria TRANSACTIONAL = 0 "
            f"AS SELECT {self.columns(transfer)} FROM {self.session.table(transfer.target.name)} LIMIT 0"
        )
        types = {
            name: f"{kind} CHARACTER SET {charset} COLLATE {collation}" if charset else kind
            for name, kind, charset, collation in self.session.rows(
                "SELECT column_name, column_type, character_set_name, collation_name "
                "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
                [stage.name.schema, stage.name.name],
            )
        }
        # A log may have only the key of a deleted row.
        columns = [column.name for column in transfer.target_columns if not column.nullable]
        changes = ", ".join(f"MODIFY {self.session.quote(name)} {types[name]} NULL" for name in columns)
        if changes:
            # Like a table definition: labels have two backslashes for one.
            build(self.url, stage.name, [f"ALTER TABLE {TABLE} {changes}"])

    @contextmanager
    def indexed(self, stage: StageTable) -> Iterator[None]:
        table = self.session.table(stage.name)
        names = ", ".join(self.session.quote(stage.transfer.target_columns[place].name) for place in stage.transfer.key)
        self.session.execute(f"ALTER TABLE {table} ADD INDEX _tieout_key ({names}, {PIECE})")
        yield
        self.session.execute(f"ALTER TABLE {table} DROP INDEX _tieout_key")

    def drop_earlier(self, stage: StageTable, than: int | None = None) -> str:
        table, same = self.session.table(stage.name), self.same_key(stage.transfer, "n", "s")
        return f"DELETE s FROM {table} s JOIN {table} n ON {same} AND {comes_later(than)}"

    def hand_on(self, stage: StageTable, place: int, piece: int) -> str:
        table, name = self.session.table(stage.name), self.session.quote(stage.transfer.target_columns[place].name)
        rest = f"TRIM(BOTH ',' FROM REPLACE(CONCAT(',', s.{KEPT}, ','), ',{place:d},', ','))"
        return (
            f"UPDATE {table} s JOIN {table} n ON {self.same_key(stage.transfer, 'n', 's')} AND n.{PIECE} < {piece:d} "
            f"SET s.{name} = n.{name}, s.{KEPT} = {rest} WHERE s.{PIECE} = {piece:d} AND {self.is_kept(place)} "
            f"AND n.{STAYS} AND NOT COALESCE({self.is_kept(place, 'n')}, 0)"
        )

    def same_key(self, transfer: Transfer, left: str, right: str) -> str:
        # To a collation, two different texts may be equal: the change of one row would take another one away. The plain
        # comparison stays, because only it can use an index.
        exact = [
            f"CAST({left}.{name} AS BINARY) = CAST({right}.{name} AS BINARY)"
            for column in (transfer.target_columns[place] for place in transfer.key)
            if column.type.name in _BY_BYTES and not (column.collation or "").endswith("nopad_bin")
            for name in [self.session.quote(column.name)]
        ]
        return " AND ".join([super().same_key(transfer, left, right), *exact])

    def leave(self) -> None:
        """There is no schema to remove."""

    def is_kept(self, place: int, row: str = "s") -> str:
        return f"FIND_IN_SET({place:d}, {row}.{KEPT})"

    def fill_kept(self, stage: StageTable, place: int, share: int | None) -> str:
        name = self.session.quote(stage.transfer.target_columns[place].name)
        return (
            f"UPDATE {self.session.table(stage.name)} s JOIN {self.session.table(stage.transfer.target.name)} t "
            f"ON {self.same_key(stage.transfer, 't', 's')} SET s.{name} = t.{name} "
            f"WHERE {self.is_kept(place)} AND {of_share(share, 's')}"
        )

    def take_away(self, stage: StageTable, share: int | None) -> str:
        # In this order: a stage has no index, and looking for each row of the target in it would take for ever.
        return (
            f"DELETE t FROM {self.session.table(stage.name)} s STRAIGHT_JOIN "
            f"{self.session.table(stage.transfer.target.name)} t ON {self.same_key(stage.transfer, 't', 's')} "
            f"WHERE {of_share(share, 's')}"
        )

    def take_copies(self, stage: StageTable) -> int:
        """Deletes copies with one statement for each row: only LIMIT can pick one of several equal rows."""
        target, staged = self.session.table(stage.transfer.target.name), self.session.table(stage.name)
        missed = 0
        for row, copies in self.session.rows(f"SELECT {_ROW}, {COPIES} FROM {staged} WHERE {GOES}"):
            same = " AND ".join(
                f"{self.exactly(column)} <=> (SELECT {self.exactly(column)} FROM {staged} WHERE {_ROW} = {row:d})"
                for column in stage.transfer.target_columns
            )
            missed += int(copies) - self.session.execute(f"DELETE FROM {target} WHERE {same} LIMIT {copies:d}")
        return missed

    def tables_like(self, prefix: str) -> list[str]:
        found = self.session.rows(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_name LIKE %s",
            [self.schema, f"{prefix}%"],
        )
        return [name for (name,) in found if name.startswith(prefix)]

    def exactly(self, column: Column) -> str:
        # To a collation, two different texts may be equal.
        name = self.session.quote(column.name)
        return f"CAST({name} AS BINARY)" if column.type.name in _BY_BYTES else name

    def has(self, column: Column, value: str) -> str:
        if column.type.name not in _BY_BYTES:
            return super().has(column, value)
        # To a collation, two different texts may be equal, and a default may have another character set.
        name, same = self.session.quote(column.name), self.same
        texts = (f"CAST(CONVERT({each} USING utf8mb4) AS BINARY)" for each in (name, value))
        return f" {same} ".join(texts)

    def any_of(self, column: Column) -> str:
        # All values of a group are equal, so it does not matter which one the server picks.
        return self.session.quote(column.name)
