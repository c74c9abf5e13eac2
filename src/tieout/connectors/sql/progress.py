"""A mover's progress, stored in the target: one transaction writes rows and how far they reach."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tieout.connectors.sql.internal_tables import PREFIX, PROGRESS, VERSION
from tieout.connectors.sql.session import SqlSession
from tieout.connectors.sql.stored_types import types_of, types_text
from tieout.connectors.sql.table_versions import drop_view
from tieout.errors import EndpointError, FencedError, UnreachableError
from tieout.failpoints import reach
from tieout.model.moves import Fence, Version
from tieout.model.positions import Position
from tieout.model.tables import Column, TableName

if TYPE_CHECKING:
    from tieout.connectors.protocols.move import Merge


FORGOTTEN: tuple[str, ...] = ()
"""The columns of a table that the task has had, and that is to join it again: no table is planned without columns."""


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """How far a task is. Its log is read from `began`, and was applied up to `applied`; None: not yet.

    `silent_for` is the number of seconds since its mover's last heartbeat, by the target's clock. `batch_end` is where
    the batch behind `applied` ends, if a mover has started to apply it and does not know whether it succeeded.
    """

    epoch: int
    owner: str
    silent_for: float
    began: Position | None
    applied: Position | None
    batch_end: Position | None = None

    @property
    def reached(self) -> Position | None:
        """The position that its rows have reached."""
        return self.applied or self.began


@dataclass(frozen=True, slots=True)
class ProgressTables:
    """The tables of `schema` that hold progress, through one session. `clock` is SQL for seconds since 1970.

    `turn` is SQL that waits for the transactions of all others that asked for the same name, and that changes nothing;
    "" where locking a row changes nothing either.
    """

    session: SqlSession
    schema: str
    clock: str
    turn: str = ""

    def table(self, name: str) -> str:
        return self.session.table(TableName(self.schema, f"{PREFIX}{name}"))

    # ------------------------------------------------------------------------------------------- the fence

    def take(self, task: str, owner: str, *, under: Fence | None = None) -> Fence:
        """Takes the right to write for the task: from now on, this mover alone has it. FencedError if it has lost the
        right `under` which it takes this one.
        """
        self.session.begin()
        try:
            self._wait_for_turn(task)
            if under is not None:
                self.check(under)
            changed = self.session.execute(
                f"UPDATE {self.table('fence')} SET epoch = epoch + 1, owner = %s WHERE task = %s", [owner, task]
            )
            if not changed:
                self.session.execute(f"INSERT INTO {self.table('fence')} VALUES (%s, 1, %s)", [task, owner])
                self.session.execute(
                    f"INSERT INTO {self.table('progress')} (task, heard) VALUES (%s, {self.clock})", [task]
                )
            self.session.execute(f"UPDATE {self.table('progress')} SET heard = {self.clock} WHERE task = %s", [task])
            ((epoch,),) = self.session.rows(f"SELECT epoch FROM {self.table('fence')} WHERE task = %s", [task])
            self.session.commit()
            return Fence(task, int(epoch))
        except BaseException:
            self.session.rollback()
            raise

    def check(self, fence: Fence, lock: str = "FOR UPDATE") -> None:
        """Raises FencedError unless this mover still has the right, which it then keeps until the transaction ends."""
        found = self.session.rows(
            f"SELECT epoch, owner FROM {self.table('fence')} WHERE task = %s {lock}", [fence.task]
        )
        if not found:
            raise FencedError(f"the task {fence.task} was dropped", "start it over")
        if int(found[0][0]) < fence.epoch:
            raise FencedError(
                f"the task {fence.task} is at its mover number {found[0][0]} here, and this is number {fence.epoch}",
                "an earlier copy of the target was restored: start the task again",
            )
        if int(found[0][0]) != fence.epoch:
            raise FencedError(f"another mover has taken over the task {fence.task}: {found[0][1]}")

    def hear(self, fence: Fence) -> None:
        """Writes the mover's heartbeat, unless it is fenced off."""
        self.session.execute(
            f"UPDATE {self.table('progress')} SET heard = {self.clock} WHERE task = %s AND {self._still_counts}",
            [fence.task, fence.task, fence.epoch],
        )

    def release(self, fence: Fence) -> None:
        """Records that the mover has ended: the next one need not wait until its heartbeat is old."""
        self.session.execute(
            f"UPDATE {self.table('progress')} SET heard = 0 WHERE task = %s AND {self._still_counts}",
            [fence.task, fence.task, fence.epoch],
        )

    @property
    def _still_counts(self) -> str:
        """SQL that is true unless this mover is fenced off: a fenced-off mover writes nothing."""
        return f"EXISTS (SELECT 1 FROM {self.table('fence')} f WHERE f.task = %s AND f.epoch = %s)"

    @contextmanager
    def together(self, fence: Fence, lock: str = "FOR UPDATE") -> Iterator[None]:
        """One transaction of a mover that holds the lease (else FencedError): no other mover can take over meanwhile.

        `lock` is SQL: with some locks, many sessions of the mover have the fence at once. "" waits for nobody's row.
        """
        self.session.begin()
        try:
            if not lock:
                self._wait_for_turn(fence.task)
            self.check(fence, lock)
            yield
            self.session.commit()
            reach("answer-lost")
        except BaseException:
            self.session.rollback()
            raise

    def _wait_for_turn(self, task: str) -> None:
        if self.turn:
            self.session.rows(self.turn, [f"tieout {task}"])

    # ---------------------------------------------------------------------------------------- how far it is

    def read(self, task: str) -> TaskProgress | None:
        rows = self.session.rows(
            f"SELECT f.epoch, f.owner, {self.clock} - p.heard, p.began, p.applied, p.batch_end "
            f"FROM {self.table('fence')} f JOIN {self.table('progress')} p ON p.task = f.task WHERE f.task = %s",
            [task],
        )
        if not rows:
            return None
        epoch, owner, silent, *positions = rows[0]
        return TaskProgress(int(epoch), owner, float(silent), *map(_position, positions))

    def is_known(self, task: str) -> bool:
        """Whether a mover has ever taken the task. Works on tables of every layout, too."""
        return bool(self.session.rows(f"SELECT 1 FROM {self.table('fence')} WHERE task = %s", [task]))

    def has_begun(self, task: str) -> bool:
        """Whether a mover has begun the task's log. Works on tables of every layout, as a preflight meets them."""
        return bool(
            self.session.rows(f"SELECT 1 FROM {self.table('progress')} WHERE task = %s AND began IS NOT NULL", [task])
        )

    def begin_at(self, fence: Fence, begin: Callable[[], Position]) -> Position:
        """Sets where the log is read from, before any row is copied. No other mover can run `begin` meanwhile.

        PostgreSQL creates no slot while a transaction is open that has changed something, which this one may have.
        """
        with self.together(fence, "" if self.turn else "FOR UPDATE"):
            position = begin()
            self.session.execute(
                f"UPDATE {self.table('progress')} SET began = %s WHERE task = %s AND began IS NULL",
                [position.text, fence.task],
            )
        return position

    def rebase(
        self, fence: Fence, before: Position, now: Position, *, batch_end: Position | None, chunks: bool
    ) -> None:
        """Records that the source has another log now, in which `now` is the same point as `before`, and a batch that
        was begun ends at `batch_end`.

        `chunks`: positions in the earlier log mean nothing any more; all copied rows are from before `now`.
        """
        with self.together(fence):
            self._move(
                fence.task,
                before,
                "began = CASE WHEN applied IS NULL THEN %s ELSE began END, "
                "applied = CASE WHEN applied IS NULL THEN NULL ELSE %s END, batch_end = %s",
                [now.text, now.text, None if batch_end is None else batch_end.text],
            )
            if chunks:
                self.session.execute(
                    f"UPDATE {self.table('chunks')} SET held = %s, snapshot = NULL "
                    "WHERE task = %s AND held IS NOT NULL",
                    [now.text, fence.task],
                )

    def plan_batch(self, fence: Fence, after: Position, end: Position) -> None:
        """Stores where a batch ends before it is applied: whoever applies it again applies the same batch.

        If one was begun that ends later, the end of that one stays.
        """
        with self.together(fence):
            self._move(fence.task, after, "batch_end = %s", [self._end_beyond(fence.task, end) or end.text])

    def mark_inexact(self, fence: Fence) -> None:
        """Records that changes of the task were lost, or may have been applied twice: from now on, nobody knows whether
        its tables show a state that the source had.
        """
        with self.together(fence):
            self.set_inexact(fence.task)

    def set_inexact(self, task: str) -> None:
        self.session.execute(f"UPDATE {self.table('progress')} SET inexact = 1 WHERE task = %s", [task])

    def is_inexact(self, task: str) -> bool:
        rows = self.session.rows(f"SELECT inexact FROM {self.table('progress')} WHERE task = %s", [task])
        return bool(rows and rows[0][0])

    def _end_beyond(self, task: str, position: Position) -> str | None:
        """Where a batch ends that was begun, if that is not reached at this position: some of its rows may be there."""
        rows = self.session.rows(f"SELECT batch_end FROM {self.table('progress')} WHERE task = %s", [task])
        end = _position(rows[0][0]) if rows else None
        return None if end is None or not end.is_same_log(position) or position.reaches(end) else end.text

    def require(self, task: str, after: Position, *, alone: bool) -> None:
        """Raises UnreachableError unless the rows are where the batch begins. `alone`: no other lane merges now."""
        if alone:
            self._move(task, after, f"heard = {self.clock}", [])
        elif not self.session.rows(
            f"SELECT 1 FROM {self.table('progress')} WHERE task = %s AND COALESCE(applied, began) = %s",
            [task, after.text],
        ):
            raise moved_on(task, after)

    def _move(self, task: str, after: Position, settings: str, values: Sequence[object]) -> None:
        """Moves on only from where the batch begins: an earlier try may have been committed although its answer was
        lost, and a restored target is not there yet.
        """
        changed = self.session.execute(
            f"UPDATE {self.table('progress')} SET {settings} WHERE task = %s AND COALESCE(applied, began) = %s",
            [*values, task, after.text],
        )
        if not changed:
            raise moved_on(task, after)

    def advance(self, task: str, merge: Merge, *, batch: int | None = None) -> None:
        """Moves from where the batch begins to where it ends; UnreachableError if the progress is not there.

        `batch`: its number, if lanes have merged it.
        """
        self._move(
            task,
            merge.after,
            "applied = %s, shown = %s, committed = COALESCE(%s, committed), batch = COALESCE(%s, batch), "
            f"batch_end = %s, heard = {self.clock}",
            [merge.upto.text, merge.upto.shown, merge.committed, batch, self._end_beyond(task, merge.upto)],
        )
        self.write_versions(task, merge.versions)

    def write_versions(self, task: str, versions: Mapping[TableName, Version]) -> None:
        for table, version in versions.items():
            values = [version.transaction, version.at, task, str(table)]
            changed = self.session.execute(
                f"UPDATE {self.table('versions')} SET transaction_id = %s, committed = %s "
                "WHERE task = %s AND target_table = %s",
                values,
            )
            if not changed:
                self.session.execute(
                    f"INSERT INTO {self.table('versions')} (transaction_id, committed, task, target_table) "
                    "VALUES (%s, %s, %s, %s)",
                    values,
                )

    def versions(self, task: str) -> dict[str, Version]:
        rows = self.session.rows(
            f"SELECT target_table, transaction_id, committed FROM {self.table('versions')} WHERE task = %s", [task]
        )
        return {name: Version(transaction, int(at)) for name, transaction, at in rows}

    # ------------------------------------------------------------------------------------------ the tables

    def made(self, task: str) -> dict[str, int]:
        """The source tables for which a mover created a table here, and the step (Step) that each has reached."""
        rows = self.session.rows(f"SELECT source_table, step FROM {self.table('tables')} WHERE task = %s", [task])
        return {name: int(step) for name, step in rows}

    def make(self, fence: Fence, source: TableName, target: TableName) -> None:
        with self.together(fence):
            if str(source) not in self.made(fence.task):
                self.session.execute(
                    f"INSERT INTO {self.table('tables')} VALUES (%s, %s, %s, 0)", [fence.task, str(source), str(target)]
                )

    def step(self, fence: Fence, source: TableName, step: int) -> None:
        with self.together(fence):
            self.session.execute(
                f"UPDATE {self.table('tables')} SET step = %s WHERE task = %s AND source_table = %s",
                [step, fence.task, str(source)],
            )

    def plan_columns(
        self,
        fence: Fence,
        source: TableName,
        columns: Sequence[str],
        target: TableName,
        definition: str | None = None,
    ) -> None:
        """Stores the columns that the source's table has at the point to which the log was read, where it goes, and
        what transforms it; None: what is stored already.
        """
        with self.together(fence):
            values = [json.dumps(columns), str(target), definition, fence.task, str(source)]
            changed = self.session.execute(
                f"UPDATE {self.table('columns')} SET planned = %s, target_table = %s, "
                "definition = COALESCE(%s, definition) WHERE task = %s AND source_table = %s",
                values,
            )
            if not changed:
                self.session.execute(
                    f"INSERT INTO {self.table('columns')} (planned, target_table, definition, task, source_table) "
                    "VALUES (%s, %s, %s, %s, %s)",
                    values,
                )

    def definitions(self, task: str) -> dict[str, str]:
        """What transforms the source tables that the task has; nothing for those that an earlier version planned. Works
        on tables of every layout, as a preflight meets them.
        """
        rows = self._rows_of_any_layout(
            f"SELECT source_table, definition FROM {self.table('columns')} WHERE task = %s AND definition IS NOT NULL",
            task,
        )
        return {str(name): str(definition) for name, definition in rows}

    def _rows_of_any_layout(self, statement: str, task: str) -> list[tuple[Any, ...]]:
        """The rows of a task; none if the table, of an older layout, lacks a column."""
        try:
            return list(self.session.rows(statement, [task]))
        except EndpointError as error:
            if error.transient:
                raise
            return []

    def plan_types(self, fence: Fence, source: TableName, columns: Sequence[Column]) -> None:
        """Stores the types that these columns of a planned table have at the point to which the log was read."""
        with self.together(fence):
            self.session.execute(
                f"UPDATE {self.table('columns')} SET types = %s WHERE task = %s AND source_table = %s",
                [types_text(columns), fence.task, str(source)],
            )

    def planned_types(self, task: str) -> dict[str, dict[str, Column]]:
        """The columns whose types are stored, by table and name, with what belongs to their types."""
        rows = self.session.rows(
            f"SELECT source_table, types FROM {self.table('columns')} WHERE task = %s AND types IS NOT NULL", [task]
        )
        return {str(name): types_of(types) for name, types in rows}

    def mark_following(self, fence: Fence, sources: Sequence[TableName]) -> None:
        """Records that all rows of these tables are at the task's position, or at their lane's, from now on."""
        with self.together(fence):
            for source in sources:
                self.session.execute(
                    f"UPDATE {self.table('columns')} SET follows = 1 WHERE task = %s AND source_table = %s",
                    [fence.task, str(source)],
                )
            self._show_beginning(fence.task)

    def _show_beginning(self, task: str) -> None:
        """Tables show the beginning of a log that had nothing to merge. Locks nothing if that is known."""
        progress = self.table("progress")
        ((began, applied, shown),) = self.session.rows(
            f"SELECT began, applied, shown FROM {progress} WHERE task = %s", [task]
        )
        if began is not None and applied is None and shown is None:
            self.session.execute(f"UPDATE {progress} SET shown = %s WHERE task = %s", [Position(began).shown, task])

    def unplan_columns(self, fence: Fence, source: TableName) -> None:
        """Forgets the columns of a table that no longer belongs to the task."""
        with self.together(fence):
            self._unplan_columns(fence, source)

    def _unplan_columns(self, fence: Fence, source: TableName) -> None:
        self.session.execute(
            f"DELETE FROM {self.table('columns')} WHERE task = %s AND source_table = %s", [fence.task, str(source)]
        )

    def planned_columns(self, task: str) -> dict[str, tuple[str, ...]]:
        """The columns of the source tables that the task has."""
        return {name: columns for name, columns in self.columns(task).items() if columns != FORGOTTEN}

    def forgotten(self, task: str) -> set[str]:
        """The source tables that were forgotten because they are to be copied again, and have not joined yet."""
        return {name for name, columns in self.columns(task).items() if columns == FORGOTTEN}

    def columns(self, task: str) -> dict[str, tuple[str, ...]]:
        rows = self.session.rows(f"SELECT source_table, planned FROM {self.table('columns')} WHERE task = %s", [task])
        return {str(name): tuple(json.loads(columns)) for name, columns in rows}

    def targets(self, task: str) -> dict[str, str]:
        """Where the rows of the source tables go that the task has; nothing for those whose targets are not stored.
        Works on tables of every layout, as a preflight meets them.
        """
        rows = self._rows_of_any_layout(
            f"SELECT source_table, target_table, planned FROM {self.table('columns')} "
            "WHERE task = %s AND target_table IS NOT NULL",
            task,
        )
        return {str(name): str(target) for name, target, columns in rows if tuple(json.loads(columns)) != FORGOTTEN}

    def tables_into(self, target: TableName) -> set[tuple[str, str]]:
        """The tasks and source tables whose rows go to a table of the target, or once went there."""
        rows = self.session.rows(
            f"SELECT task, source_table FROM {self.table('columns')} WHERE target_table = %s", [str(target)]
        )
        return {(str(task), str(source)) for task, source in rows}

    def stop_table(self, fence: Fence, source: TableName, reason: str) -> None:
        """Stops applying the changes of a table. Keeps the first reason: the answer to an earlier try may be lost."""
        with self.together(fence):
            if str(source) not in self.stopped(fence.task):
                self.session.execute(
                    f"INSERT INTO {self.table('stopped')} VALUES (%s, %s, %s)", [fence.task, str(source), reason]
                )

    def stopped(self, task: str) -> dict[str, str]:
        """The source tables that are stopped, and why."""
        rows = self.session.rows(f"SELECT source_table, reason FROM {self.table('stopped')} WHERE task = %s", [task])
        return {str(name): str(reason) for name, reason in rows}

    def forget(self, task: str) -> bool:
        """Removes the task. Returns True if it was the last one, and then the tables are gone, too, unless a view of
        somebody else reads ours.
        """
        for table in PROGRESS:
            self.session.execute(f"DELETE FROM {self.table(table)} WHERE task = %s", [task])
        ((others,),) = self.session.rows(f"SELECT COUNT(*) FROM {self.table('fence')}")
        if others or not drop_view(self.session, self.schema):
            return False
        for table in (*PROGRESS, VERSION):
            self.session.execute(f"DROP TABLE {self.table(table)}")
        return True


def moved_on(task: str, after: Position) -> UnreachableError:
    return UnreachableError(
        f"the progress of the task {task} is no longer at {after}",
        "an earlier try was committed after all, or the target was restored: the mover goes on from there",
    )


def _position(text: str | None) -> Position | None:
    return None if text is None else Position(text)
