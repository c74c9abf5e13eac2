"""A database as a target of moved rows: stages, merges and progress, as far as engines agree on them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from hashlib import blake2s
from typing import ClassVar

from tieout.connectors.protocols.move import (
    STAGE_COLUMNS,
    ChangesRefused,
    Destination,
    LaneStep,
    Loader,
    Merge,
    ShareRows,
    StagedChanges,
    StageTable,
    missing_stage_is_transient,
)
from tieout.connectors.sql.chunk_progress import ChunkTable
from tieout.connectors.sql.ddl import TABLE, Built, Structure, UnsupportedColumn, Wiring, spelled
from tieout.connectors.sql.internal_tables import STAGE
from tieout.connectors.sql.lane_progress import LaneTable
from tieout.connectors.sql.last_rows import LastRows
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.restart_progress import RestartTable
from tieout.connectors.sql.rows_not_found import RowsNotFound
from tieout.connectors.sql.session import SqlSession
from tieout.errors import AccessError, EndpointError, UnreachableError, WriteError
from tieout.failpoints import reach
from tieout.model.levels import TargetLevel, is_transactional
from tieout.model.move_status import RowNotFound
from tieout.model.moves import Chunk, Fence, Transfer
from tieout.model.preflight import Problem
from tieout.model.row_changes import ChangeKind
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

KIND, PIECE, COPIES, KEPT, SHARE, EXISTED = STAGE_COLUMNS
STAYS = f"{KIND} <> {ChangeKind.DELETE:d}"
_EXACT_KEYS = {TypeName.BOOLEAN, TypeName.INTEGER, TypeName.UUID, TypeName.DATE}
"""Types whose values are equal only if their texts are. A collation, or -0, makes different texts equal."""
_STAGE_NAME = re.compile(r"(\d+)_[0-9a-f]{12}(?:_[0-9a-z]+)?")
_AS_STAGED = b"\t1\t0\t1\t\\N\t0\t1\n"
"""What STAGE_COLUMNS hold for a row that is there, behind the row's own columns."""
GOES = f"{KIND} = {ChangeKind.DELETE:d}"


class SqlTarget(ABC):
    """Merges rows with a key by deleting all that changed and inserting what is left of it.

    So no row stands in the way of another one's unique value. Foreign keys are off in these sessions; so are triggers
    where the engine allows it, and `problems` names the triggers that it can't turn off.
    """

    overriding: ClassVar[str] = ""
    """The words in an INSERT that let it write columns that the server numbers by itself."""
    writers: ClassVar[int | None] = None
    same: ClassVar[str] = "IS NOT DISTINCT FROM"
    """The operator that is true for equal values, and for two NULLs."""
    shared_lock: ClassVar[str] = ""
    """The SQL behind a SELECT that lets many sessions read the fence at once, and keeps all from changing it."""

    def __init__(self, connect: Callable[[], SqlSession], schema: str, clock: str, turn: str = "") -> None:
        self._connect = connect
        self._clock = clock
        self._turn = turn
        self.schema = schema
        self._open()

    def _open(self) -> None:
        self.session = self._connect()
        self.progress = ProgressTables(self.session, self.schema, self._clock, self._turn)
        self.chunks = ChunkTable(self.progress)
        self.restarts = RestartTable(self.progress)
        self.lanes = LaneTable(self.progress)
        self._last_rows = self.last_rows()
        self._not_found = RowsNotFound(self.session, self.progress)

    def level_of(self, table: Table | None) -> TargetLevel:
        # The transaction that writes rows writes progress, too, and a batch ends where one of the source ends.
        return TargetLevel.TRANSACTION

    def reconnect(self) -> None:
        self.session.close()
        self._open()

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        self.loader().run(fence, table, statements, parent)

    def clear(self, fence: Fence, table: TableName, *, drop: bool) -> None:
        if drop:
            try:
                self.run(fence, table, [f"DROP TABLE {TABLE}"])
                return
            except EndpointError as error:
                if error.transient:
                    raise  # else a view or a foreign key of another table needs it: its definition stays
        self.run(fence, table, [f"DELETE FROM {TABLE}"])

    def make_stages(self, fence: Fence, transfers: Sequence[Transfer]) -> dict[TableName, StageTable]:
        self.progress.check(fence, lock="")
        self._drop_stages(fence.task, fence.epoch)
        return {transfer.source.name: self._make_stage(fence, transfer) for transfer in transfers}

    def _make_stage(self, fence: Fence, transfer: Transfer) -> StageTable:
        stage = self._stage_of(fence, transfer)
        self.create_stage(stage)
        return stage

    def _stage_of(self, fence: Fence, transfer: Transfer) -> StageTable:
        # Named by epoch: a fenced-off mover drops none of its successor's stages.
        name = f"{stage_prefix(fence.task)}{fence.epoch}_{_short(str(transfer.source.name))}"
        return StageTable(TableName(self.schema, name), transfer)

    def _drop_stages(self, task: str, upto: int | None = None) -> None:
        """Drops the stages of this mover and of earlier ones: another mover may have taken over since."""
        prefix = stage_prefix(task)
        for name in sorted(self.tables_like(prefix)):
            found = _STAGE_NAME.fullmatch(name.removeprefix(prefix))
            if found is not None and (upto is None or int(found[1]) <= upto):
                self.session.execute(f"DROP TABLE IF EXISTS {self.session.table(TableName(self.schema, name))}")

    def drop_stages(self, stages: Sequence[StageTable]) -> None:
        if stages:
            names = ", ".join(self.session.table(stage.name) for stage in stages)
            self.session.execute(f"DROP TABLE IF EXISTS {names}")

    def merge(
        self, fence: Fence, merge: Merge, *, with_progress: bool, steps: Sequence[LaneStep] = ()
    ) -> list[RowNotFound]:
        share = steps[0].lane.share if len(steps) == 1 else None
        with self.progress.together(fence, self.shared_lock if steps else "FOR UPDATE"):
            for changes in merge.changes:
                self._require_staged(changes, share)
            found = [row for changes in merge.changes for row in self._applied(changes, share, merge)]
            self._not_found.keep(fence.task, found)
            if self._last_rows:
                for changes in (each for each in merge.changes if each.of(share).rows or each.emptied):
                    self._last_rows.keep(fence.task, changes, STAYS, of_share(share))
            # Last, because the mover's heartbeat writes to the same row of the progress.
            self._move_on(fence.task, merge, steps, with_progress=with_progress)
            reach("before-commit")
        return found

    def rows_not_found(self, task: str) -> list[RowNotFound]:
        return self._not_found.stored(task)

    def _move_on(self, task: str, merge: Merge, steps: Sequence[LaneStep], *, with_progress: bool) -> None:
        if not steps and with_progress:
            self.progress.advance(task, merge)
        elif not with_progress:
            self.progress.require(task, merge.after, alone=not steps)
        else:
            for step in steps:
                self.lanes.advance(task, merge, step)

    def settle(self, changes: StagedChanges) -> StagedChanges:
        # Before the transaction: nobody else uses this attempt's stage.
        if changes.since and changes.rows:
            with missing_stage_is_transient():
                stage = self.session.table(changes.stage.name)
                self.session.execute(f"DELETE FROM {stage} WHERE {PIECE} < {changes.since:d}")
        if not changes.overlap or not changes.rows:
            return changes
        self._require_staged(changes, None)
        if changes.stage.transfer.key:
            with self.indexed(changes.stage):
                if changes.kept:
                    self._hand_values_on(changes)
                self.session.execute(self.drop_earlier(changes.stage))
        else:
            self.add_up_copies(changes.stage)
        counts = self.session.rows(
            f"SELECT {SHARE}, COUNT(*) FROM {self.session.table(changes.stage.name)} GROUP BY {SHARE}"
        )
        found = {int(share or 0): int(rows) for share, rows in counts}
        left = tuple(ShareRows(found.get(share, 0)) for share in range(len(changes.shares)))
        return replace(changes, shares=left, overlap=False)

    def _staged(self, changes: StagedChanges, share: int | None) -> int:
        if not changes.rows:
            return 0  # and no stage: the table was emptied
        with missing_stage_is_transient():
            ((staged,),) = self.session.rows(
                f"SELECT COUNT(*) FROM {self.session.table(changes.stage.name)} WHERE {of_share(share)}"
            )
        return int(staged)

    def _require_staged(self, changes: StagedChanges, share: int | None) -> None:
        """A server that crashed meanwhile has emptied the stage: a merge would then lose the changes."""
        staged, rows = self._staged(changes, share), changes.of(share).rows
        if staged != rows:
            raise UnreachableError(f"of {rows:,} staged rows only {staged:,} are left", "the mover stages them again")

    def _hand_values_on(self, changes: StagedChanges) -> None:
        """A value that the log left out of a row is in an earlier piece, if that has the row, or else in the target."""
        stage = changes.stage
        ((last,),) = self.session.rows(f"SELECT MAX({PIECE}) FROM {self.session.table(stage.name)}")
        for piece in range(1, int(last) + 1):
            # Piece by piece: then a key has at most one earlier row, and that row has every value that there is.
            for place in sorted(changes.kept):
                self.session.execute(self.hand_on(stage, place, piece))
            self.session.execute(self.drop_earlier(stage, piece))

    def merge_beside_others(self) -> None:
        return None

    def joined_keys(self, transfers: Sequence[Transfer]) -> dict[TableName, str]:
        found = {}
        for transfer in transfers:
            if (reason := self._joined(transfer)) is not None:
                found[transfer.target.name] = reason
        return found

    def _joined(self, transfer: Transfer) -> str | None:
        if not transfer.key:
            return "it has no key"
        for place in transfer.key:
            for column in transfer.columns[place]:
                if column.type.name not in _EXACT_KEYS:
                    return f"different values of its key column {column.name} may be equal for the server"
        key = {transfer.target_columns[place].name for place in transfer.key}
        for index, columns in self.unique_indexes(transfer.target.name).items():
            if not key <= set(columns):
                return f"its unique index {index} joins rows of different keys"
        return None

    def restored_tables(
        self, fence: Fence, transfers: Sequence[Transfer], chunks: Sequence[Chunk]
    ) -> dict[TableName, str]:
        # A batch that was written in part looks like one that was lost.
        whole = [transfer for transfer in transfers if self._is_transactional(transfer)]
        return self._last_rows.restored_tables(fence, whole, chunks) if self._last_rows else {}

    def _is_transactional(self, transfer: Transfer) -> bool:
        return is_transactional(self.level_of(transfer.target))

    def mark_altered(self, fence: Fence, transfers: Sequence[Transfer]) -> None:
        if self._last_rows:
            self._last_rows.mark_altered(fence, transfers)

    def unequal_rows(self, fence: Fence, transfer: Transfer, lines: Iterable[bytes]) -> int:
        stage = self._stage_of(fence, transfer).of_attempt("same")
        try:
            self.loader().stage(stage, (block.replace(b"\n", _AS_STAGED) for block in lines), new=True)
            equal = " AND ".join(
                f"{self._exactly(column, 't')} {self.same} {self._exactly(column, 's')}"
                for column in transfer.target_columns
            )
            ((count,),) = self.session.rows(
                f"SELECT COUNT(*) FROM {self.session.table(stage.name)} s WHERE NOT EXISTS (SELECT 1 FROM "
                f"{self.session.table(transfer.target.name)} t WHERE {self.same_key(transfer, 't', 's')} AND {equal})"
            )
            return int(count)
        finally:
            self.drop_stages([stage])

    def has_other_values(self, table: TableName, column: Column, value: str | None, only: Mapping[str, str]) -> bool:
        found = f"SELECT 1 FROM {TABLE} WHERE {self._of_others(column, value, only)} LIMIT 1"
        return bool(self.session.rows(spelled(self.session, found, table)))

    def assign(
        self, fence: Fence, table: TableName, column: Column, value: str | None, only: Mapping[str, str]
    ) -> None:
        name, others = self.session.quote(column.name), self._of_others(column, value, only)
        self.run(fence, table, [f"UPDATE {TABLE} SET {name} = {value or 'NULL'} WHERE {others}"])

    def _of_others(self, column: Column, value: str | None, only: Mapping[str, str]) -> str:
        chosen = [f"{self.session.quote(name)} = {self.session.text(text)}" for name, text in only.items()]
        other = (
            f"{self.session.quote(column.name)} IS NOT NULL" if value is None else f"NOT ({self.has(column, value)})"
        )
        return " AND ".join([*chosen, other])

    def has(self, column: Column, value: str) -> str:
        """SQL that is true if a column has a value that SQL says, never NULL."""
        return f"{self.session.quote(column.name)} {self.same} {value}"

    def _exactly(self, column: Column, row: str) -> str:
        name = self.session.quote(column.name)
        return self.exactly(column).replace(name, f"{row}.{name}", 1)

    def mark_altering(self, fence: Fence, table: TableName) -> None:
        if self._last_rows:
            self._last_rows.forget(fence, table)

    def record(self, fence: Fence, merge: Merge, *, batch: int | None = None) -> None:
        # Lanes that merge later batches hold the fence: nobody else writes this row but the mover's heartbeat.
        with self.progress.together(fence, "FOR UPDATE" if batch is None else self.shared_lock):
            self.progress.advance(fence.task, merge, batch=batch)

    def record_lanes(self, fence: Fence, merge: Merge, steps: Sequence[LaneStep]) -> None:
        with self.progress.together(fence, self.shared_lock):
            for step in steps:
                self.lanes.advance(fence.task, merge, step)

    def _applied(self, changes: StagedChanges, share: int | None, merge: Merge) -> list[RowNotFound]:
        try:
            return self._apply(changes, share, merge)
        except WriteError as error:
            raise ChangesRefused(error.message, error.hint, changes.stage.transfer.source.name) from None

    def _apply(self, changes: StagedChanges, share: int | None, merge: Merge) -> list[RowNotFound]:
        if changes.emptied:
            self.session.execute(f"DELETE FROM {self.session.table(changes.stage.transfer.target.name)}")
        if not changes.of(share).rows:
            return []
        if changes.stage.transfer.key:
            return self._apply_keyed(changes, share, merge)
        missed = self._apply_copies(changes)
        if not missed or merge.again:
            return []
        name = str(changes.stage.transfer.target.name)
        return [RowNotFound(name, "delete", None, merge.upto.shown, missed)]

    def _apply_keyed(self, changes: StagedChanges, share: int | None, merge: Merge) -> list[RowNotFound]:
        stage = changes.stage
        if changes.kept and not self._is_transactional(stage.transfer):
            self._require_whole(changes, share)
        for place in sorted(changes.kept):
            self._fill_kept(stage, place, share)
        not_found = self._take_away(changes, share, merge)
        columns = self.columns(stage.transfer)
        self.session.execute(
            f"INSERT INTO {self.session.table(stage.transfer.target.name)} ({columns}) {self.overriding}"
            f"SELECT {columns} FROM {self.session.table(stage.name)} WHERE {STAYS} AND {of_share(share)}"
        )
        return not_found

    def _take_away(self, changes: StagedChanges, share: int | None, merge: Merge) -> list[RowNotFound]:
        """Deletes the rows that changed. Returns those that should have been there, and were not."""
        stage, existing = changes.stage, changes.of(share).existing
        if not existing or changes.emptied or merge.again:
            self.session.execute(self.take_away(stage, share))
            return []
        if not self._is_transactional(stage.transfer):
            missed = existing - self.session.execute(self.take_away(stage, share))
            name = str(stage.transfer.target.name)
            return [RowNotFound(name, None, None, merge.upto.shown, missed)] if missed else []
        self.session.execute("SAVEPOINT tieout_not_found")
        if self.session.execute(self.take_away(stage, share)) == existing:
            return []
        # Something is missing: which rows, only the state before can tell.
        self.session.execute("ROLLBACK TO SAVEPOINT tieout_not_found")
        same = self.same_key(stage.transfer, "t", "s")
        not_found = self._not_found.staged(stage, same, of_share(share, "s"), merge.upto.shown)
        self.session.execute(self.take_away(stage, share))
        return not_found

    def _require_whole(self, changes: StagedChanges, share: int | None) -> None:
        """A mover that is killed after it has deleted rows takes with them the values that the log left out."""
        stage, transfer = changes.stage, changes.stage.transfer
        left_out = " OR ".join(self.is_kept(place) for place in sorted(changes.kept))
        ((count,),) = self.session.rows(
            f"SELECT COUNT(*) FROM {self.session.table(stage.name)} s WHERE ({left_out}) AND {of_share(share, 's')}"
        )
        if count:
            raise WriteError(
                f"{transfer.target.name}: the log left out values of {count:,} changed rows, and a table without "
                "transactions could lose these rows if the mover is killed",
                f"with REPLICA IDENTITY FULL of {transfer.source.name} the log of PostgreSQL has whole rows",
            )

    def _fill_kept(self, stage: StageTable, place: int, share: int | None) -> None:
        filled = self.session.execute(self.fill_kept(stage, place, share))
        ((wanted,),) = self.session.rows(
            f"SELECT COUNT(*) FROM {self.session.table(stage.name)} s WHERE {self.is_kept(place)} "
            f"AND {of_share(share, 's')}"
        )
        if filled != wanted:
            transfer = stage.transfer
            raise WriteError(
                f"{transfer.target.name}: {wanted - filled} rows are missing, and the log left out their value of "
                f"{transfer.target_columns[place].name}",
                f"with REPLICA IDENTITY FULL of {transfer.source.name} the log of PostgreSQL has whole rows",
            )

    def _apply_copies(self, changes: StagedChanges) -> int:
        """For rows without a key: deletes and inserts as many copies of each as the log says.

        Returns how many copies to delete were not there.
        """
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
        return missed

    def drop_task(self, fence: Fence) -> None:
        self.progress.check(fence, lock="")
        self._drop_stages(fence.task)
        if self.progress.forget(fence.task):
            self.leave()

    def last_rows(self) -> LastRows | None:
        """None if nobody can restore a table of this engine without the others."""
        return None

    @abstractmethod
    def leave(self) -> None:
        """Removes what all tasks shared. Called when the last task is gone."""

    def close(self) -> None:
        self.session.close()

    def columns(self, transfer: Transfer) -> str:
        return ", ".join(self.session.quote(column.name) for column in transfer.target_columns)

    def same_key(self, transfer: Transfer, left: str, right: str) -> str:
        names = [self.session.quote(transfer.target_columns[place].name) for place in transfer.key]
        return " AND ".join(f"{left}.{name} = {right}.{name}" for name in names)

    def is_prepared(self) -> bool:
        # The last table that every layout makes: a mover may have been killed between two of them.
        return "tieout_chunks" in self.tables_like("tieout_chunks")

    def tables_with_rows(self, tables: Sequence[TableName]) -> set[TableName]:
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
    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]: ...

    @abstractmethod
    def declared(self, table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]: ...

    @abstractmethod
    def widening(self, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> list[str]: ...

    @abstractmethod
    def missing_types(self, types: Sequence[str]) -> list[str]: ...

    @abstractmethod
    def built(self, table: TableName) -> Built: ...

    @abstractmethod
    def unique_indexes(self, table: TableName) -> dict[str, list[str]]:
        """The names of all indexes and constraints that keep two rows of a table apart, with their plain columns."""

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
        """Inside the block, the engine finds a staged row quickly by its key and piece."""

    @abstractmethod
    def drop_earlier(self, stage: StageTable, than: int | None = None) -> str:
        """Deletes staged rows whose key is also in a later piece, or in piece `than`."""

    @abstractmethod
    def hand_on(self, stage: StageTable, place: int, piece: int) -> str:
        """Gives rows of a piece the value that an earlier row of their key has, where the log left it out."""

    def add_up_copies(self, stage: StageTable) -> None:
        """Replaces all staged rows that are equal by one, with the number of copies that are left of them."""
        table, columns = self.session.table(stage.name), self.columns(stage.transfer)
        net = f"SUM(CASE WHEN {GOES} THEN -{COPIES} ELSE {COPIES} END)"
        kind = f"CASE WHEN {net} > 0 THEN {ChangeKind.INSERT:d} ELSE {ChangeKind.DELETE:d} END"
        ((last,),) = self.session.rows(f"SELECT MAX({PIECE}) FROM {table}")
        self.session.execute(
            f"INSERT INTO {table} ({columns}, {KIND}, {PIECE}, {COPIES}, {SHARE}) "
            f"SELECT {', '.join(self.any_of(column) for column in stage.transfer.target_columns)}, "
            f"{kind}, {int(last) + 1:d}, ABS({net}), 0 FROM {table} "
            f"GROUP BY {', '.join(self.exactly(column) for column in stage.transfer.target_columns)} HAVING {net} <> 0"
        )
        self.session.execute(f"DELETE FROM {table} WHERE {PIECE} <= {int(last):d}")

    @abstractmethod
    def exactly(self, column: Column) -> str:
        """SQL that is equal only for values that are equal in every bit."""

    @abstractmethod
    def any_of(self, column: Column) -> str:
        """SQL for any one value of a group."""

    @abstractmethod
    def is_kept(self, place: int, row: str = "s") -> str:
        """SQL that is true if the log left a column out of a staged row; NULL if it left nothing out."""

    @abstractmethod
    def fill_kept(self, stage: StageTable, place: int, share: int | None) -> str:
        """Copies the target's value into staged rows of a share, in a column that the log left out."""

    @abstractmethod
    def take_away(self, stage: StageTable, share: int | None) -> str:
        """Deletes the target's rows whose key is staged, in a share."""

    @abstractmethod
    def take_copies(self, stage: StageTable) -> int:
        """Deletes copies of rows without a key. Returns how many it did not find."""

    @abstractmethod
    def tables_like(self, prefix: str) -> list[str]:
        """The tables of the schema whose names begin with the prefix."""


def of_share(share: int | None, row: str | None = None) -> str:
    """SQL that is true for the staged rows of a share; None: of all."""
    prefix = f"{row}." if row else ""
    return "1 = 1" if share is None else f"{prefix}{SHARE} = {share:d}"


def comes_later(than: int | None) -> str:
    """SQL that is true if the staged row `n` is of a later piece than `s`, or of piece `than`."""
    return f"n.{PIECE} > s.{PIECE}" if than is None else f"n.{PIECE} = {than:d} AND s.{PIECE} < {than:d}"


def stage_prefix(task: str) -> str:
    """The prefix of the names of a task's stages."""
    return f"{STAGE}{_short(task)}_"


def _short(text: str) -> str:
    return blake2s(text.encode(), digest_size=6).hexdigest()
