"""An SQLite file as a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.move import Destination, StageTable
from tieout.connectors.sql.ddl import Built, Structure, UnsupportedColumn, Wiring
from tieout.connectors.sql.internal_tables import PREFIX
from tieout.connectors.sql.progress_layout import create_tables
from tieout.connectors.sql.table_versions import create_view
from tieout.connectors.sql.target import (
    COPIES,
    EXISTED,
    GOES,
    KEPT,
    KIND,
    PIECE,
    SHARE,
    SqlTarget,
    comes_later,
    of_share,
)
from tieout.connectors.sqlite.capture.triggers import rowid_of
from tieout.connectors.sqlite.move.finish import SQLiteFinish
from tieout.connectors.sqlite.move.loader import CLOCK, SCHEMA, SQLiteLoader, create_like, refuse_triggers
from tieout.connectors.sqlite.session import mover_session
from tieout.errors import UnsupportedError
from tieout.model.moves import Fence, Transfer
from tieout.model.preflight import Problem, Severity
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

_COMPUTED = "an SQLite table keeps the class of each value, and Spark does not know it"
_FOREIGN = "only SQLite tables can be moved to SQLite"


def open_target(url: EndpointUrl) -> SQLiteTarget:
    return SQLiteTarget(url)


class SQLiteTarget(SqlTarget):
    writers: ClassVar[int | None] = 1

    def __init__(self, url: EndpointUrl) -> None:
        super().__init__(lambda: mover_session(url), SCHEMA, CLOCK)
        self.url = url

    def prepare(self) -> None:
        with self._at_once():
            create_tables(self.progress, "TEXT", "TEXT", self.tables_like(PREFIX))
            create_view(self.session, SCHEMA, lambda at: f"strftime('%Y-%m-%d %H:%M:%f', ({at}) / 1e6, 'unixepoch')")

    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
        return [UnsupportedColumn(name, _FOREIGN) for name in table.column_names]

    def declared(self, table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]:
        return [UnsupportedColumn(name, _COMPUTED) for name in names]

    def widening(self, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> list[str]:
        raise UnsupportedError(f"{table.name}: SQLite does not change the type of a column")

    def missing_types(self, types: Sequence[str]) -> list[str]:
        return []  # SQLite accepts any type name

    def built(self, table: TableName) -> Built:
        found = self.session.rows("SELECT name FROM pragma_index_list(%s)", [table.name])
        others = self.session.rows("SELECT name FROM sqlite_master WHERE tbl_name <> %s", [table.name])
        return Built(frozenset(name for (name,) in found), frozenset(), frozenset(name for (name,) in others))

    def problems(self, destinations: Sequence[Destination]) -> list[Problem]:
        found = []
        for destination in destinations:
            try:
                refuse_triggers(self.session, destination.name)
            except UnsupportedError as error:
                found.append(Problem(Severity.PREVENTS, error.message, error.hint, table=str(destination.name)))
        return found

    def unique_indexes(self, table: TableName) -> dict[str, list[str]]:
        return {"": []}  # shares would wait for each other: a file has one writer

    def load_problem(self) -> Problem:
        message = "SQLite has no server load that could be measured (max_load)"
        return Problem(Severity.PREVENTS, message, "leave max_load out; max_rows_per_second limits the rate")

    def lag_problem(self) -> Problem:
        message = "SQLite has no replicas whose lag could be measured (max_replica_lag)"
        return Problem(Severity.PREVENTS, message, "leave max_replica_lag out; max_rows_per_second limits the rate")

    def load(self) -> int:
        raise UnsupportedError(self.load_problem().message, self.load_problem().fix)

    def replica_lag(self) -> float:
        raise UnsupportedError(self.lag_problem().message, self.lag_problem().fix)

    def finisher(self) -> SQLiteFinish:
        return SQLiteFinish(self.url, self.run)

    def loader(self) -> SQLiteLoader:
        return SQLiteLoader(self.url)

    def make_stages(self, fence: Fence, transfers: Sequence[Transfer]) -> dict[TableName, StageTable]:
        with self._at_once():
            return super().make_stages(fence, transfers)

    def create_stage(self, stage: StageTable) -> None:
        target = stage.transfer.target.name
        refuse_triggers(self.session, target)
        names = [column.name for column in stage.transfer.target_columns]
        own = [f"0 AS {KIND}", f"0 AS {PIECE}", f"0 AS {COPIES}", f"'' AS {KEPT}", f"0 AS {SHARE}", f"0 AS {EXISTED}"]
        create_like(self.session, stage.name, target, names, own)

    def drop_stages(self, stages: Sequence[StageTable]) -> None:
        with self._at_once():
            for stage in stages:
                super().drop_stages([stage])

    @contextmanager
    def indexed(self, stage: StageTable) -> Iterator[None]:
        index = self.session.quote(f"{stage.name.name}_key")
        with self._at_once():
            self.session.execute(
                f"CREATE INDEX {index} ON {self.session.table(stage.name)} ({self._key(stage.transfer)}, {PIECE})"
            )
            yield
            self.session.execute(f"DROP INDEX {index}")

    def drop_earlier(self, stage: StageTable, than: int | None = None) -> str:
        table, same = self.session.table(stage.name), self.same_key(stage.transfer, "n", "s")
        return (
            f"DELETE FROM {table} AS s WHERE EXISTS (SELECT 1 FROM {table} AS n WHERE {same} AND {comes_later(than)})"
        )

    def hand_on(self, stage: StageTable, place: int, piece: int) -> str:
        raise _left_out(stage)

    def leave(self) -> None:
        """Nothing: SQLite has no schema to remove."""

    def exactly(self, column: Column) -> str:
        name = self.session.quote(column.name)
        sign = f"CASE WHEN typeof({name}) = 'real' AND {name} = 0.0 THEN tieout_sign({name}) END"
        return f"typeof({name}), {name} COLLATE BINARY, {sign}"

    def has(self, column: Column, value: str) -> str:
        return f"{self.session.quote(column.name)} IS {value}"

    def any_of(self, column: Column) -> str:
        return self.session.quote(column.name)

    def is_kept(self, place: int, row: str = "s") -> str:
        return "0"

    def fill_kept(self, stage: StageTable, place: int, share: int | None) -> str:
        raise _left_out(stage)

    def take_away(self, stage: StageTable, share: int | None) -> str:
        key, texts = self._key(stage.transfer), False
        exact = []
        for column in (stage.transfer.target_columns[place] for place in stage.transfer.key):
            is_text = column.type.name in (TypeName.TEXT, TypeName.CHAR)
            exact.append(self.session.quote(column.name) + (" COLLATE BINARY" if is_text else ""))
            texts = texts or is_text
        staged = f"SELECT {key} FROM {self.session.table(stage.name)} WHERE {of_share(share)}"
        found = f"DELETE FROM {self.session.table(stage.transfer.target.name)} WHERE ({key}) IN ({staged})"
        # To NOCASE and RTRIM, two different texts may be equal: the change of one row would take another one away. The
        # plain comparison stays, because only it can use the table's index.
        return f"{found} AND ({', '.join(exact)}) IN ({staged})" if texts else found

    def take_copies(self, stage: StageTable) -> int:
        target, staged = self.session.table(stage.transfer.target.name), self.session.table(stage.name)
        rowid = rowid_of(stage.transfer.target, self.session.rows)
        if rowid is None:
            raise UnsupportedError(f"{stage.transfer.target.name}: its columns hide the rowid, and it has no key")
        same = " AND ".join(_same(self.session.quote(column.name)) for column in stage.transfer.target_columns)
        ((wanted,),) = self.session.rows(f"SELECT COALESCE(SUM({COPIES}), 0) FROM {staged} WHERE {GOES}")
        found = self.session.execute(
            f"DELETE FROM {target} WHERE {rowid} IN (SELECT place FROM (SELECT t.{rowid} AS place, "
            f"s.{COPIES} AS copies, row_number() OVER (PARTITION BY s._rowid_) AS number FROM {staged} AS s "
            f"JOIN {target} AS t ON {same} WHERE s.{GOES}) WHERE number <= copies)"
        )
        return int(wanted) - found

    def tables_like(self, prefix: str) -> list[str]:
        found = self.session.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, %s) = %s", [len(prefix), prefix]
        )
        return [name for (name,) in found]

    def _key(self, transfer: Transfer) -> str:
        return ", ".join(self.session.quote(transfer.target_columns[place].name) for place in transfer.key)

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """One transaction instead of many, each of which would wait for the disk."""
        self.session.begin()
        try:
            yield
            self.session.commit()
        except BaseException:
            self.session.rollback()
            raise


def _same(name: str) -> str:
    """True if `t` and `s` have the same value in a column, bit by bit, whatever SQLite or a collation considers equal.

    Two staged rows must not match the same row of the target: each would delete it.
    """
    alike = f"t.{name} IS s.{name} COLLATE BINARY AND typeof(t.{name}) = typeof(s.{name})"
    return f"{alike} AND (t.{name} IS NOT 0.0 OR tieout_sign(t.{name}) = tieout_sign(s.{name}))"


def _left_out(stage: StageTable) -> UnsupportedError:
    """SQLite's log never leaves out a value."""
    return UnsupportedError(f"{stage.transfer.source.name}: the log left a value out")
