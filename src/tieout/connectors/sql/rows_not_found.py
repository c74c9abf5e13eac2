"""Changes whose rows the target did not have, stored beside the progress: they outlive the mover that saw them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tieout.connectors.protocols.move import STAGE_COLUMNS, StageTable
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.session import SqlSession
from tieout.model.move_status import RowNotFound
from tieout.model.row_changes import ChangeKind

_KIND, *_, _EXISTED = STAGE_COLUMNS
_LISTED = 100
"""Keys of one batch of a table."""
_STORED = 1_000
"""Keys of a task. The rest is counted."""


@dataclass(frozen=True, slots=True)
class RowsNotFound:
    session: SqlSession
    progress: ProgressTables

    def staged(self, stage: StageTable, same_key: str, share: str, position: str) -> list[RowNotFound]:
        """The staged rows that should have had an older version on the target, and have none.

        `same_key` is SQL that compares the keys of `t` and `s`; `share` is SQL for the rows of `s` to look at.
        """
        name = stage.transfer.target.name
        columns = [stage.transfer.target_columns[place].name for place in stage.transfer.key]
        listed = ", ".join(f"s.{self.session.quote(column)}" for column in columns)
        lacking = (
            f"FROM {self.session.table(stage.name)} s WHERE s.{_EXISTED} = 1 AND {share} AND NOT EXISTS "
            f"(SELECT 1 FROM {self.session.table(name)} t WHERE {same_key})"
        )
        rows = self.session.rows(f"SELECT s.{_KIND}, {listed} {lacking} ORDER BY {listed} LIMIT {_LISTED:d}")
        found = [
            RowNotFound(str(name), _kind(kind), dict(zip(columns, map(_text, key), strict=True)), position)
            for kind, *key in rows
        ]
        if len(rows) == _LISTED:
            ((count,),) = self.session.rows(f"SELECT COUNT(*) {lacking}")
            if count > _LISTED:
                found.append(RowNotFound(str(name), None, None, position, int(count) - _LISTED))
        return found

    def keep(self, task: str, found: Sequence[RowNotFound]) -> None:
        """Stores them in the transaction that applies the changes."""
        ((stored,),) = self.session.rows(f"SELECT COUNT(*) FROM {self._table} WHERE task = %s", [task])
        room = max(0, _STORED - int(stored))
        for each in found[:room]:
            self._insert(task, each)
        for each in found[room:]:
            self._count(task, RowNotFound(each.table, None, None, each.position, each.rows))

    def _insert(self, task: str, each: RowNotFound) -> None:
        key = None if each.key is None else json.dumps(each.key)
        self.session.execute(
            f"INSERT INTO {self._table} (task, target_table, kind, row_key, log_position, row_count) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            [task, each.table, each.kind, key, each.position, each.rows],
        )

    def _count(self, task: str, each: RowNotFound) -> None:
        """Adds to the number of a table's rows whose keys are not stored. Two lanes may each have begun to count."""
        where, of_table = "WHERE task = %s AND target_table = %s AND kind IS NULL", [task, each.table]
        known = self.session.rows(f"SELECT row_count FROM {self._table} {where}", of_table)
        if known:
            self.session.execute(f"DELETE FROM {self._table} {where}", of_table)
        self._insert(task, replace(each, rows=each.rows + sum(int(rows) for (rows,) in known)))

    def stored(self, task: str) -> list[RowNotFound]:
        rows = self.session.rows(
            f"SELECT target_table, kind, row_key, log_position, row_count FROM {self._table} WHERE task = %s", [task]
        )
        return [
            RowNotFound(table, kind, None if key is None else json.loads(key), position, int(count))
            for table, kind, key, position, count in rows
        ]

    @property
    def _table(self) -> str:
        return self.progress.table("not_found")


def _kind(staged: Any) -> str:
    return "delete" if int(staged) == ChangeKind.DELETE else "update"


def _text(value: Any) -> str | None:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"0x{bytes(value).hex()}"
    return None if value is None else str(value)
