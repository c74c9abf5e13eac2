"""What a mover applied last to each table, stored beside the progress: it reveals a table that was restored alone.

One transaction writes rows and progress, and a restored copy of the whole database has both. A table that somebody
restores by itself, from a dump, lacks what was applied since, while the progress says that it has it. Such a table was
created, emptied or rewritten since the mover last read it, and it lacks what was applied last. A table that was only
rebuilt or altered has it, and so has each table of a copy of the whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tieout.connectors.protocols.move import StagedChanges
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.session import SqlSession
from tieout.model.moves import Chunk, Fence, Transfer
from tieout.model.tables import TableName

_KEPT = 3
"""Rows of a batch to remember: a batch is applied whole or not at all, but somebody may have changed one of its rows
back.
"""


class Tables(Protocol):
    """What an engine knows about tables and rows."""

    def made(self, tables: Sequence[TableName]) -> dict[TableName, str]:
        """For each table that exists, a mark that changes if somebody creates, empties or rewrites it. Empty if the
        engine has no such mark.
        """

    def row_hash(self, columns: Sequence[str], row: str) -> str:
        """SQL for a hash of these columns of a row."""

    def same_key(self, transfer: Transfer, left: str, right: str) -> str: ...


@dataclass(frozen=True, slots=True)
class LastRows:
    session: SqlSession
    progress: ProgressTables
    tables: Tables

    def keep(self, task: str, changes: StagedChanges, stays: str, share: str) -> None:
        """Remembers rows, at the end of the transaction that applied the changes. `stays` is SQL that is true for
        staged rows that the target has now, `share` for those that the transaction applied.
        """
        transfer, kept = changes.stage.transfer, {}
        if changes.rows:
            table = self.session.table(changes.stage.name)
            staged = f"(SELECT * FROM {table} WHERE {stays} AND {share} LIMIT {_KEPT:d}) s"
            columns = [column.name for column in transfer.target_columns]
            if transfer.key:  # the target's version: a trigger may have changed them
                target = self.session.table(transfer.target.name)
                there = f"{staged} JOIN {target} t ON {self.tables.same_key(transfer, 't', 's')}"
                kept = {"columns": columns, "there": self._hashes(columns, there, "t")}
            else:
                kept = {"columns": columns, "there": self._hashes(columns, staged, "s")}
            if not kept["there"] and transfer.key:
                keys = [transfer.target_columns[place].name for place in transfer.key]
                staged = f"(SELECT * FROM {table} WHERE {share} LIMIT {_KEPT:d}) s"
                kept = {"columns": keys, "gone": self._hashes(keys, staged, "s")}
        self._write(task, transfer.target.name, "applied", json.dumps(kept))

    def _hashes(self, columns: Sequence[str], rows: str, row: str) -> list[str]:
        return sorted({str(value) for (value,) in self.session.rows(self._hashed(columns, rows, row))})

    def _hashed(self, columns: Sequence[str], rows: str, row: str) -> str:
        return f"SELECT {self.tables.row_hash(columns, row)} AS hash FROM {rows}"

    def restored_tables(
        self, fence: Fence, transfers: Sequence[Transfer], chunks: Sequence[Chunk]
    ) -> dict[TableName, str]:
        """The source tables whose target lacks what was applied to it, and the evidence.

        Remembers the marks of the other tables. `chunks` are those of the tables.
        """
        made = self.tables.made([transfer.target.name for transfer in transfers])
        known = self._read(fence.task)
        restored: dict[TableName, str] = {}
        for name, now in made.items():
            own = [transfer for transfer in transfers if transfer.target.name == name]
            copied = [c for c in chunks if c.held is not None and c.table in {each.source.name for each in own}]
            before, applied = known.get(str(name), (None, None))
            rows = sum(chunk.rows for chunk in copied)
            reason = None
            if before is not None and (before != now or self._was_emptied(own[0], applied, rows)):
                reason = self._lacks(own[0], applied, rows)
            if reason is not None:
                restored.update({transfer.source.name: f"{name} {reason}" for transfer in own})
            elif before != now:
                with self.progress.together(fence):
                    self._note(fence.task, name, now, known=before is not None, begun=bool(copied))
        return restored

    def mark_altered(self, fence: Fence, transfers: Sequence[Transfer]) -> None:
        """Remembers the marks of tables that the mover has altered itself."""
        made = self.tables.made([transfer.target.name for transfer in transfers])
        with self.progress.together(fence):
            for name, now in made.items():
                self._write(fence.task, name, "made", now)

    def forget(self, fence: Fence, table: TableName) -> None:
        """Forgets what was applied last to a table whose rows are about to be written in another way."""
        with self.progress.together(fence):
            self._write(fence.task, table, "applied", "{}")

    def _was_emptied(self, transfer: Transfer, applied: dict[str, Any] | None, copied: int) -> bool:
        """MariaDB has no mark that changes when a table is truncated."""
        filled = copied if applied is None else applied.get("there")
        return bool(filled) and not self.session.rows(
            f"SELECT 1 FROM {self.session.table(transfer.target.name)} LIMIT 1"
        )

    def _lacks(self, transfer: Transfer, applied: dict[str, Any] | None, copied: int) -> str | None:
        target = self.session.table(transfer.target.name)
        if applied is None:  # no change was ever applied: it has the copied rows
            ((count,),) = self.session.rows(f"SELECT COUNT(*) FROM {target}")
            return f"has only {count:,} of the {copied:,} rows that were copied to it" if count < copied else None
        columns: list[str] = applied.get("columns", [])
        if not set(columns) <= {column.name for column in transfer.target.columns}:
            return "lacks columns that the mover has written to"
        for wanted in ("there", "gone"):
            hashes = applied.get(wanted, [])
            if hashes:
                which = ", ".join(self.session.text(value) for value in hashes)
                rows = self._hashed(columns, f"{target} t", "t")
                statement = f"SELECT COUNT(DISTINCT hash) FROM ({rows}) AS hashed WHERE hash IN ({which})"
                ((count,),) = self.session.rows(statement)
                if count != (len(hashes) if wanted == "there" else 0):
                    return "lacks the changes that were applied to it last"
        return None

    def _read(self, task: str) -> dict[str, tuple[str, dict[str, Any] | None]]:
        rows = self.session.rows(f"SELECT target_table, made, applied FROM {self._table} WHERE task = %s", [task])
        return {name: (made, None if applied is None else json.loads(applied)) for name, made, applied in rows}

    def _note(self, task: str, name: TableName, made: str, *, known: bool, begun: bool) -> None:
        if known:
            self._write(task, name, "made", made)
            return
        # If an earlier version copied rows to a table, nobody knows whether it has changed them since.
        applied = "{}" if begun else None
        self.session.execute(
            f"INSERT INTO {self._table} (task, target_table, made, applied) VALUES (%s, %s, %s, %s)",
            [task, str(name), made, applied],
        )

    def _write(self, task: str, name: TableName, column: str, value: str) -> None:
        self.session.execute(
            f"UPDATE {self._table} SET {column} = %s WHERE task = %s AND target_table = %s", [value, task, str(name)]
        )

    @property
    def _table(self) -> str:
        return self.progress.table("last_rows")
