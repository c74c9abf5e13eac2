"""The chunks of a task's tables, beside its progress: which are copied, and what each already contains of the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.session import SqlSession
from tieout.failpoints import reach
from tieout.model.keys import Key, KeyRange
from tieout.model.moves import Chunk, Fence, Held
from tieout.model.positions import Position
from tieout.model.tables import TableName

_SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class ChunkTable:
    progress: ProgressTables

    @property
    def _session(self) -> SqlSession:
        return self.progress.session

    @property
    def _table(self) -> str:
        return self.progress.table("chunks")

    def plan(self, fence: Fence, chunks: Sequence[Chunk]) -> None:
        """Plans all chunks or none: a table with some planned chunks would seem to have no others."""
        with self.progress.together(fence):
            planned = self.of(fence.task, [chunk.table for chunk in chunks[:1]])
            for number, chunk in enumerate(() if planned else chunks):
                self._session.execute(
                    f"INSERT INTO {self._table} (task, source_table, ordinal, low_key, high_key, row_count) "
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
        """The number of rows of a chunk that was copied already; None: this transaction is the one to copy it."""
        rows = self._session.rows(
            f"SELECT held, row_count FROM {self._table} "
            "WHERE task = %s AND source_table = %s AND ordinal = %s FOR UPDATE",
            [fence.task, str(chunk.table), chunk.ordinal],
        )
        return None if rows[0][0] is None else int(rows[0][1])

    def finish(self, fence: Fence, chunk: Chunk, held: Held, rows: int) -> None:
        self._session.execute(
            f"UPDATE {self._table} SET held = %s, snapshot = %s, row_count = %s "
            "WHERE task = %s AND source_table = %s AND ordinal = %s",
            [held.position.text, _view(held), rows, fence.task, str(chunk.table), chunk.ordinal],
        )

    def of(self, task: str, tables: Sequence[TableName]) -> list[Chunk]:
        """The chunks of these tables, in order."""
        names = {str(table): table for table in tables}
        rows = self._session.rows(
            f"SELECT source_table, ordinal, low_key, high_key, held, snapshot, row_count FROM {self._table} "
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

    def write(
        self,
        lock: str,
        fence: Fence,
        chunk: Chunk,
        held: Held,
        load: Callable[[], int],
        commit: Callable[[], None],
    ) -> int:
        """Copies a chunk and returns the rows written. `lock` is SQL that lets many sessions read the fence at once.

        FencedError if another mover has taken over.
        """
        self._session.begin()
        self.progress.check(fence, lock)
        done = self.copied(fence, chunk)
        if done is not None:
            return done  # the answer to an earlier try was lost
        reach("chunk-before-load")
        rows = load()
        self.finish(fence, chunk, held, rows)
        reach("chunk-before-commit")
        commit()
        reach("chunk-after-commit")
        return rows


def _key(text: str | None) -> Key | None:
    return None if text is None else tuple(json.loads(text))


def _key_text(key: Key | None) -> str | None:
    return None if key is None else json.dumps(key)


def _view(held: Held) -> str | None:
    """The snapshot of a chunk's rows, as the table stores it beside the position."""
    return held.snapshot if held.settled is None else f"{_SETTLED} {held.settled.text}"


def _held(position: str, view: str | None) -> Held:
    if view is not None and view.startswith(f"{_SETTLED} "):
        return Held(Position(position), settled=Position(view.removeprefix(f"{_SETTLED} ")))
    return Held(Position(position), view)
