"""A mover's progress, kept in the target: rows and how far they go are written in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tieout.connectors.own_tables import PREFIX, PROGRESS
from tieout.connectors.sessions import Session
from tieout.errors import FencedError
from tieout.failpoints import reach
from tieout.model.keys import Key, KeyRange
from tieout.model.moving import Chunk, Fence, Held, Version
from tieout.model.positions import Position
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """How far a task is. `began` is where its log is read from, `applied` how far it was applied; None: not yet.

    `silent_for` is how many seconds ago its mover was last heard of, by the target's clock.
    """

    epoch: int
    owner: str
    silent_for: float
    began: Position | None
    applied: Position | None


@dataclass(frozen=True, slots=True)
class ProgressTables:
    """The tables of `schema` that progress is kept in, through one session. `clock` is SQL for seconds since 1970."""

    session: Session
    schema: str
    clock: str

    # ------------------------------------------------------------------------------------------ the tables

    def create(self, text: str, long_text: str) -> None:
        """`text` is a type for names, `long_text` one for anything longer."""
        name = f"task {text} NOT NULL"
        for table, columns in (
            ("fence", f"{name}, epoch BIGINT NOT NULL, owner {long_text} NOT NULL, PRIMARY KEY (task)"),
            (
                "progress",
                f"{name}, heard BIGINT NOT NULL, began {long_text}, applied {long_text}, PRIMARY KEY (task)",
            ),
            (
                "versions",
                f"{name}, target_table {text} NOT NULL, transaction_id {long_text} NOT NULL, "
                "committed BIGINT NOT NULL, PRIMARY KEY (task, target_table)",
            ),
            (
                "tables",
                f"{name}, source_table {text} NOT NULL, target_table {long_text} NOT NULL, step INT NOT NULL, "
                "PRIMARY KEY (task, source_table)",
            ),
            (
                "stopped",
                f"{name}, source_table {text} NOT NULL, reason {long_text} NOT NULL, PRIMARY KEY (task, source_table)",
            ),
            (
                "columns",
                f"{name}, source_table {text} NOT NULL, planned {long_text} NOT NULL, PRIMARY KEY (task, source_table)",
            ),
            (
                "chunks",
                f"{name}, source_table {text} NOT NULL, ordinal INT NOT NULL, low_key {long_text}, "
                f"high_key {long_text}, held {long_text}, snapshot {long_text}, row_count BIGINT NOT NULL, "
                "PRIMARY KEY (task, source_table, ordinal)",
            ),
        ):
            self.session.execute(f"CREATE TABLE IF NOT EXISTS {self.table(table)} ({columns})")

    def table(self, name: str) -> str:
        return self.session.table(TableName(self.schema, f"{PREFIX}{name}"))

    # ------------------------------------------------------------------------------------------- the fence

    def take(self, task: str, owner: str) -> Fence:
        """The right to write for the task, from now on this mover's alone."""
        self.session.begin()
        try:
            changed = self.session.execute(
                f"UPDATE {self.table('fence')} SET epoch = epoch + 1, owner = %s WHERE task = %s", [owner, task]
            )
            if not changed:
                self.session.execute(f"INSERT INTO {self.table('fence')} VALUES (%s, 1, %s)", [task, owner])
                self.session.execute(
                    f"INSERT INTO {self.table('progress')} VALUES (%s, {self.clock}, NULL, NULL)", [task]
                )
            self.session.execute(f"UPDATE {self.table('progress')} SET heard = {self.clock} WHERE task = %s", [task])
            ((epoch,),) = self.session.rows(f"SELECT epoch FROM {self.table('fence')} WHERE task = %s", [task])
            self.session.commit()
            return Fence(task, int(epoch))
        except BaseException:
            self.session.rollback()
            raise

    def check(self, fence: Fence, lock: str = "FOR UPDATE") -> None:
        """FencedError unless the right still holds; it does then to the end of the transaction."""
        found = self.session.rows(
            f"SELECT epoch, owner FROM {self.table('fence')} WHERE task = %s {lock}", [fence.task]
        )
        if not found:
            raise FencedError(f"the task {fence.task} was dropped", "it has to begin anew")
        if int(found[0][0]) != fence.epoch:
            raise FencedError(f"another mover has taken over the task {fence.task}: {found[0][1]}")

    def hear(self, fence: Fence) -> None:
        """Says that the mover is alive, if it is still the one that counts."""
        self.session.execute(
            f"UPDATE {self.table('progress')} SET heard = {self.clock} WHERE task = %s AND {self._still_counts}",
            [fence.task, fence.task, fence.epoch],
        )

    def release(self, fence: Fence) -> None:
        """Says that the mover has ended: the next one need not wait until it is thought dead."""
        self.session.execute(
            f"UPDATE {self.table('progress')} SET heard = 0 WHERE task = %s AND {self._still_counts}",
            [fence.task, fence.task, fence.epoch],
        )

    @property
    def _still_counts(self) -> str:
        """Of a mover that another one took over from, nothing is written."""
        return f"EXISTS (SELECT 1 FROM {self.table('fence')} f WHERE f.task = %s AND f.epoch = %s)"

    @contextmanager
    def together(self, fence: Fence) -> Iterator[None]:
        """One transaction, of a mover that has the right to it (FencedError)."""
        self.session.begin()
        try:
            self.check(fence)
            yield
            self.session.commit()
        except BaseException:
            self.session.rollback()
            raise

    # ---------------------------------------------------------------------------------------- how far it is

    def read(self, task: str) -> TaskProgress | None:
        rows = self.session.rows(
            f"SELECT f.epoch, f.owner, {self.clock} - p.heard, p.began, p.applied "
            f"FROM {self.table('fence')} f JOIN {self.table('progress')} p ON p.task = f.task WHERE f.task = %s",
            [task],
        )
        if not rows:
            return None
        epoch, owner, silent, began, applied = rows[0]
        return TaskProgress(int(epoch), owner, float(silent), _position(began), _position(applied))

    def begin_at(self, task: str, position: Position) -> None:
        """Where the log is to be read from: before any row is copied."""
        self.session.execute(
            f"UPDATE {self.table('progress')} SET began = %s WHERE task = %s AND began IS NULL", [position.text, task]
        )

    def advance(self, task: str, applied: Position, versions: Mapping[TableName, Version]) -> None:
        self.session.execute(
            f"UPDATE {self.table('progress')} SET applied = %s, heard = {self.clock} WHERE task = %s",
            [applied.text, task],
        )
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
        """The source tables for which a table was made here, and how far each of those is (Step)."""
        rows = self.session.rows(f"SELECT source_table, step FROM {self.table('tables')} WHERE task = %s", [task])
        return {name: int(step) for name, step in rows}

    def make(self, task: str, source: TableName, target: TableName) -> None:
        self.session.execute(
            f"INSERT INTO {self.table('tables')} VALUES (%s, %s, %s, 0)", [task, str(source), str(target)]
        )

    def step(self, task: str, source: TableName, step: int) -> None:
        self.session.execute(
            f"UPDATE {self.table('tables')} SET step = %s WHERE task = %s AND source_table = %s",
            [step, task, str(source)],
        )

    def plan_columns(self, fence: Fence, source: TableName, columns: Sequence[str]) -> None:
        """The columns that the source's table has, as far as the log was read."""
        where = [fence.task, str(source)]
        with self.together(fence):
            self.session.execute(f"DELETE FROM {self.table('columns')} WHERE task = %s AND source_table = %s", where)
            self.session.execute(
                f"INSERT INTO {self.table('columns')} VALUES (%s, %s, %s)", [*where, json.dumps(columns)]
            )

    def planned_columns(self, task: str) -> dict[str, tuple[str, ...]]:
        rows = self.session.rows(f"SELECT source_table, planned FROM {self.table('columns')} WHERE task = %s", [task])
        return {str(name): tuple(json.loads(columns)) for name, columns in rows}

    def stop_table(self, fence: Fence, source: TableName, reason: str) -> None:
        """Its changes are not applied any more."""
        with self.together(fence):
            self.session.execute(
                f"INSERT INTO {self.table('stopped')} VALUES (%s, %s, %s)", [fence.task, str(source), reason]
            )

    def stopped(self, task: str) -> dict[str, str]:
        """Source tables that go no further, and why."""
        rows = self.session.rows(f"SELECT source_table, reason FROM {self.table('stopped')} WHERE task = %s", [task])
        return {str(name): str(reason) for name, reason in rows}

    # ------------------------------------------------------------------------------------------ the chunks

    def plan_chunks(self, fence: Fence, chunks: Sequence[Chunk]) -> None:
        """All of them or none: a table with some chunks planned would be taken for one that has no others."""
        with self.together(fence):
            for number, chunk in enumerate(chunks):
                self.session.execute(
                    f"INSERT INTO {self.table('chunks')} (task, source_table, ordinal, low_key, high_key, row_count) "
                    "VALUES (%s, %s, %s, %s, %s, 0)",
                    [
                        fence.task,
                        str(chunk.table),
                        chunk.ordinal,
                        _key_text(chunk.keys.low),
                        _key_text(chunk.keys.high),
                    ],
                )
                if number == 0:
                    reach("while-planning")

    def copied(self, fence: Fence, chunk: Chunk) -> int | None:
        """How many rows of a chunk were copied, if it was; it is this transaction's to copy otherwise."""
        rows = self.session.rows(
            f"SELECT held, row_count FROM {self.table('chunks')} "
            "WHERE task = %s AND source_table = %s AND ordinal = %s FOR UPDATE",
            [fence.task, str(chunk.table), chunk.ordinal],
        )
        return None if rows[0][0] is None else int(rows[0][1])

    def finish_chunk(self, fence: Fence, chunk: Chunk, held: Held, rows: int) -> None:
        self.session.execute(
            f"UPDATE {self.table('chunks')} SET held = %s, snapshot = %s, row_count = %s "
            "WHERE task = %s AND source_table = %s AND ordinal = %s",
            [held.position.text, _view(held), rows, fence.task, str(chunk.table), chunk.ordinal],
        )

    def chunks(self, task: str, tables: Sequence[TableName]) -> list[Chunk]:
        """The chunks of these tables, in order."""
        names = {str(table): table for table in tables}
        rows = self.session.rows(
            f"SELECT source_table, ordinal, low_key, high_key, held, snapshot, row_count FROM {self.table('chunks')} "
            "WHERE task = %s ORDER BY source_table, ordinal",
            [task],
        )
        return [
            Chunk(
                names[name],
                int(ordinal),
                KeyRange(_key(low), _key(high)),
                None if held is None else _held(held, snapshot),
                int(count),
            )
            for name, ordinal, low, high, held, snapshot, count in rows
            if name in names
        ]

    def forget(self, task: str) -> bool:
        """Whether it was the last task, whose tables went with it."""
        for table in PROGRESS:
            self.session.execute(f"DELETE FROM {self.table(table)} WHERE task = %s", [task])
        ((others,),) = self.session.rows(f"SELECT COUNT(*) FROM {self.table('fence')}")
        if not others:
            for table in PROGRESS:
                self.session.execute(f"DROP TABLE {self.table(table)}")
        return not others


def _position(text: str | None) -> Position | None:
    return None if text is None else Position(text)


def _key(text: str | None) -> Key | None:
    return None if text is None else tuple(json.loads(text))


def _key_text(key: Key | None) -> str | None:
    return None if key is None else json.dumps(key)


_SETTLED = "settled "


def _view(held: Held) -> str | None:
    """What a chunk's rows are of, beside its position."""
    return held.snapshot if held.settled is None else f"{_SETTLED}{held.settled.text}"


def _held(position: str, view: str | None) -> Held:
    if view is not None and view.startswith(_SETTLED):
        return Held(Position(position), settled=Position(view.removeprefix(_SETTLED)))
    return Held(Position(position), view)
