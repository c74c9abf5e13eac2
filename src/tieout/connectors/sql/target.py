"""A database as a target of moved rows: stages, merges and progress, as far as engines agree on them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import blake2s
from typing import ClassVar

from tieout.connectors.protocols.move import (
    STAGE_COLUMNS,
    Destination,
    Loader,
    Merge,
    StagedChanges,
    StageTable,
    stages_again,
)
from tieout.connectors.sql.ddl import Built, Structure, Unholdable, Wiring
from tieout.connectors.sql.internal_tables import STAGE
from tieout.connectors.sql.last_rows import LastRows
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.session import Session
from tieout.errors import AccessError, UnreachableError, WriteError
from tieout.failpoints import reach
from tieout.model.moves import Chunk, Fence, Transfer
from tieout.model.preflight import Problem, TargetLevel
from tieout.model.row_changes import ChangeKind
from tieout.model.tables import Column, Table, TableName

KIND, PIECE, COPIES, KEPT = STAGE_COLUMNS
STAYS = f"{KIND} <> {ChangeKind.DELETE:d}"
_STAGE_NAME = re.compile(r"(\d+)_[0-9a-f]{12}(?:_[0-9a-z]+)?")
GOES = f"{KIND} = {ChangeKind.DELETE:d}"


class SqlTarget(ABC):
    """Rows with a key are merged by taking away all that changed and putting back what is left of it.

    So no row stands in the way of another one's unique value. Foreign keys sleep in these sessions; so do triggers
    where the engine lets them, and `problems` tells of those that it does not.
    """

    overriding: ClassVar[str] = ""
    """What an INSERT says to write columns that the server would number by itself."""
    # Progress is written in the transaction of the rows, and a batch ends where a transaction of the source does.
    level: ClassVar[TargetLevel] = TargetLevel.TRANSACTION

    def __init__(self, connect: Callable[[], Session], schema: str, clock: str, turn: str = "") -> None:
        self._connect = connect
        self._clock = clock
        self._turn = turn
        self.schema = schema
        self._open()

    def _open(self) -> None:
        self.session = self._connect()
        self.progress = ProgressTables(self.session, self.schema, self._clock, self._turn)
        self._last_rows = self.last_rows()

    def reconnect(self) -> None:
        self.session.close()
        self._open()

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        self.loader().run(fence, table, statements, parent)

    def make_stages(self, fence: Fence, transfers: Sequence[Transfer]) -> dict[TableName, StageTable]:
        self.progress.check(fence, lock="")
        self._drop_stages(fence.task, fence.epoch)
        return {transfer.source.name: self._make_stage(fence, transfer) for transfer in transfers}

    def _make_stage(self, fence: Fence, transfer: Transfer) -> StageTable:
        # By epoch: a mover that was taken over drops none of its successor's.
        name = f"{stage_prefix(fence.task)}{fence.epoch}_{_short(str(transfer.source.name))}"
        stage = StageTable(TableName(self.schema, name), transfer)
        self.create_stage(stage)
        return stage

    def _drop_stages(self, task: str, upto: int | None = None) -> None:
        """A mover drops its own and those of the ones before: another may have taken over since it was asked."""
        prefix = stage_prefix(task)
        for name in self.tables_like(prefix):
            found = _STAGE_NAME.fullmatch(name.removeprefix(prefix))
            if found is not None and (upto is None or int(found[1]) <= upto):
                self.session.execute(f"DROP TABLE IF EXISTS {self.session.table(TableName(self.schema, name))}")

    def drop_stages(self, stages: Sequence[StageTable]) -> None:
        if stages:
            names = ", ".join(self.session.table(stage.name) for stage in stages)
            self.session.execute(f"DROP TABLE IF EXISTS {names}")

    def merge(self, fence: Fence, merge: Merge, *, with_progress: bool) -> list[str]:
        staged = [(changes, self._settle(changes)) for changes in merge.changes]
        with self.progress.together(fence):
            for changes, rows in staged:
                self._require_staged(changes, rows)
            remarks = [remark for changes in merge.changes for remark in self._apply(changes)]
            if self._last_rows:
                for changes in merge.changes:
                    self._last_rows.keep(fence.task, changes, STAYS)
            # Last: the row of the progress is written to by the mover's sign of life, too.
            if with_progress:
                self.progress.advance(fence.task, merge.after, merge.upto, merge.versions)
            else:
                self.progress.require(fence.task, merge.after)
            reach("before-commit")
        return remarks

    def _settle(self, changes: StagedChanges) -> int:
        """How many rows are left to merge. Before the transaction: a stage is this try's alone."""
        if not changes.overlap or not changes.rows:
            return changes.rows
        self._require_staged(changes, changes.rows)
        if changes.stage.transfer.key:
            with self.indexed(changes.stage):
                if changes.kept:
                    self._hand_values_on(changes)
                self.session.execute(self.drop_earlier(changes.stage))
        else:
            self.add_up_copies(changes.stage)
        return self._staged(changes)

    def _staged(self, changes: StagedChanges) -> int:
        if not changes.rows:
            return 0  # and no stage: the table was emptied
        with stages_again():
            ((staged,),) = self.session.rows(f"SELECT COUNT(*) FROM {self.session.table(changes.stage.name)}")
        return int(staged)

    def _require_staged(self, changes: StagedChanges, rows: int) -> None:
        """A server that crashed meanwhile has emptied it: merged all the same, the changes would be lost."""
        staged = self._staged(changes)
        if staged != rows:
            raise UnreachableError(f"of {rows:,} rows that were staged {staged:,} are left", "they are staged again")

    def _hand_values_on(self, changes: StagedChanges) -> None:
        """What the log left out of a row is in an earlier piece, if that has the row, and else in the target."""
        stage = changes.stage
        ((last,),) = self.session.rows(f"SELECT MAX({PIECE}) FROM {self.session.table(stage.name)}")
        for piece in range(1, int(last) + 1):
            # Piece by piece: so there is one earlier row of a key at most, and it has what is to be had.
            for place in sorted(changes.kept):
                self.session.execute(self.hand_on(stage, place, piece))
            self.session.execute(self.drop_earlier(stage, piece))

    def watch(self, fence: Fence, transfers: Sequence[Transfer], chunks: Sequence[Chunk]) -> dict[TableName, str]:
        return self._last_rows.watch(fence, transfers, chunks) if self._last_rows else {}

    def rebuilt(self, fence: Fence, transfers: Sequence[Transfer]) -> None:
        if self._last_rows:
            self._last_rows.rebuilt(fence, transfers)

    def record(self, fence: Fence, merge: Merge) -> None:
        with self.progress.together(fence):
            self.progress.advance(fence.task, merge.after, merge.upto, merge.versions)

    def _apply(self, changes: StagedChanges) -> list[str]:
        if changes.emptied:
            self.session.execute(f"DELETE FROM {self.session.table(changes.stage.transfer.target.name)}")
        if not changes.rows:
            return []
        return self._apply_keyed(changes) if changes.stage.transfer.key else self._apply_copies(changes)

    def _apply_keyed(self, changes: StagedChanges) -> list[str]:
        stage = changes.stage
        for place in sorted(changes.kept):
            self._fill_kept(stage, place)
        found = self.session.execute(self.take_away(stage))
        columns = self.columns(stage.transfer)
        self.session.execute(
            f"INSERT INTO {self.session.table(stage.transfer.target.name)} ({columns}) {self.overriding}"
            f"SELECT {columns} FROM {self.session.table(stage.name)} WHERE {STAYS}"
        )
        if changes.existing is None or found == changes.existing or changes.emptied:
            return []
        name = stage.transfer.target.name
        return [f"{name}: {changes.existing:,} rows were to be changed or deleted, and {found:,} of them were there"]

    def _fill_kept(self, stage: StageTable, place: int) -> None:
        filled = self.session.execute(self.fill_kept(stage, place))
        ((wanted,),) = self.session.rows(
            f"SELECT COUNT(*) FROM {self.session.table(stage.name)} s WHERE {self.is_kept(place)}"
        )
        if filled != wanted:
            transfer = stage.transfer
            raise WriteError(
                f"{transfer.target.name}: {wanted - filled} rows are missing that have a value of "
                f"{transfer.target_columns[place].name} which the log left out",
                f"ALTER TABLE {transfer.source.name} REPLICA IDENTITY FULL, then drop the task and begin anew",
            )

    def _apply_copies(self, changes: StagedChanges) -> list[str]:
        """Rows without a key: as many copies of each go or come as the log says."""
        stage = changes.stage
        target, staged = self.session.table(stage.transfer.target.name), self.session.table(stage.name)
        missed = self.take_copies(stage)
        columns = self.columns(stage.transfer)
        ((most,),) = self.session.rows(f"SELECT COALESCE(MAX({COPIES}), 0) FROM {staged} WHERE {STAYS}")
        for copy in range(int(most)):
            self.session.execute(
                f"INSERT INTO {target} ({columns}) {self.overriding}SELECT {columns} FROM {staged} "
                f"WHERE {STAYS} AND {COPIES} > {copy:d}"
            )
        return [f"{stage.transfer.target.name}: {missed:,} rows were to be deleted, and not there"] if missed else []

    def drop_task(self, fence: Fence) -> None:
        self.progress.check(fence, lock="")
        self._drop_stages(fence.task)
        if self.progress.forget(fence.task):
            self.leave()

    def last_rows(self) -> LastRows | None:
        """None: a table is never restored without the others."""
        return None

    @abstractmethod
    def leave(self) -> None:
        """The last task is gone: removes what all of them shared."""

    def close(self) -> None:
        self.session.close()

    def columns(self, transfer: Transfer) -> str:
        return ", ".join(self.session.quote(column.name) for column in transfer.target_columns)

    def same_key(self, transfer: Transfer, left: str, right: str) -> str:
        names = [self.session.quote(transfer.target_columns[place].name) for place in transfer.key]
        return " AND ".join(f"{left}.{name} = {right}.{name}" for name in names)

    def is_prepared(self) -> bool:
        # The last one that every layout makes: a mover may have been killed between two of them.
        return "tieout_chunks" in self.tables_like("tieout_chunks")

    def filled(self, tables: Sequence[TableName]) -> set[TableName]:
        found = set()
        for name in tables:
            with suppress(AccessError):
                if self.session.rows(f"SELECT 1 FROM {self.session.table(name)} LIMIT 1"):
                    found.add(name)
        return found

    @abstractmethod
    def problems(self, destinations: Sequence[Destination]) -> list[Problem]: ...

    @abstractmethod
    def prepare(self) -> None: ...

    @abstractmethod
    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[Unholdable]: ...

    @abstractmethod
    def lacking(self, types: Sequence[str]) -> list[str]: ...

    @abstractmethod
    def built(self, table: TableName) -> Built: ...

    @abstractmethod
    def load_problem(self) -> Problem | None: ...

    @abstractmethod
    def lag_problem(self) -> Problem | None: ...

    @abstractmethod
    def load(self) -> int: ...

    @abstractmethod
    def replica_lag(self) -> float | None: ...

    @abstractmethod
    def loader(self) -> Loader: ...

    @abstractmethod
    def create_stage(self, stage: StageTable) -> None:
        """A table with the target's columns, none of them NOT NULL, and STAGE_COLUMNS."""

    @abstractmethod
    def indexed(self, stage: StageTable) -> AbstractContextManager[None]:
        """In the block a staged row's key is found quickly, by its piece too."""

    @abstractmethod
    def drop_earlier(self, stage: StageTable, than: int | None = None) -> str:
        """Takes rows out of the stage whose key a later piece has too, or this one."""

    @abstractmethod
    def hand_on(self, stage: StageTable, place: int, piece: int) -> str:
        """Gives rows of a piece the value that an earlier row of their key has, where the log left it out."""

    def add_up_copies(self, stage: StageTable) -> None:
        """Makes one row of all that are the same in a stage, with the copies that are left of them."""
        table, columns = self.session.table(stage.name), self.columns(stage.transfer)
        net = f"SUM(CASE WHEN {GOES} THEN -{COPIES} ELSE {COPIES} END)"
        kind = f"CASE WHEN {net} > 0 THEN {ChangeKind.INSERT:d} ELSE {ChangeKind.DELETE:d} END"
        ((last,),) = self.session.rows(f"SELECT MAX({PIECE}) FROM {table}")
        self.session.execute(
            f"INSERT INTO {table} ({columns}, {KIND}, {PIECE}, {COPIES}) "
            f"SELECT {', '.join(self.any_of(column) for column in stage.transfer.target_columns)}, "
            f"{kind}, {int(last) + 1:d}, ABS({net}) FROM {table} "
            f"GROUP BY {', '.join(self.exactly(column) for column in stage.transfer.target_columns)} HAVING {net} <> 0"
        )
        self.session.execute(f"DELETE FROM {table} WHERE {PIECE} <= {int(last):d}")

    @abstractmethod
    def exactly(self, column: Column) -> str:
        """What is the same only of values that are the same in every bit."""

    @abstractmethod
    def any_of(self, column: Column) -> str:
        """One of the values of a group."""

    @abstractmethod
    def is_kept(self, place: int, row: str = "s") -> str:
        """Whether the log left a column out of a staged row; NULL if it left nothing out."""

    @abstractmethod
    def fill_kept(self, stage: StageTable, place: int) -> str:
        """Gives staged rows the value that the target has in a column which the log left out."""

    @abstractmethod
    def take_away(self, stage: StageTable) -> str:
        """Deletes the target's rows whose key is staged."""

    @abstractmethod
    def take_copies(self, stage: StageTable) -> int:
        """Deletes copies of rows without a key; how many were not there."""

    @abstractmethod
    def tables_like(self, prefix: str) -> list[str]:
        """The tables of the schema whose names begin so."""


def comes_later(than: int | None) -> str:
    """Whether the staged row `n` is of a later piece than `s`, or of this one."""
    return f"n.{PIECE} > s.{PIECE}" if than is None else f"n.{PIECE} = {than:d} AND s.{PIECE} < {than:d}"


def stage_prefix(task: str) -> str:
    """What the names of a task's stages begin with."""
    return f"{STAGE}{_short(task)}_"


def _short(text: str) -> str:
    return blake2s(text.encode(), digest_size=6).hexdigest()
