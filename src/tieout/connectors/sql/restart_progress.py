"""Tables that start over and tables that join: what the progress forgets of them, and how a task gets them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tieout.connectors.sql.progress import FORGOTTEN, ProgressTables
from tieout.connectors.sql.session import SqlSession
from tieout.model.moves import Fence
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class RestartTable:
    progress: ProgressTables

    @property
    def _session(self) -> SqlSession:
        return self.progress.session

    def request(self, task: str, source: str) -> None:
        """Asks the task's mover, now or later, to copy a table of the source again."""
        if source not in self.requested(task):
            self._session.execute(f"INSERT INTO {self.progress.table('restarts')} VALUES (%s, %s)", [task, source])

    def requested(self, task: str) -> set[str]:
        """The source tables that are to be copied again."""
        rows = self._session.rows(f"SELECT source_table FROM {self.progress.table('restarts')} WHERE task = %s", [task])
        return {str(name) for (name,) in rows}

    def cancel(self, fence: Fence, source: str) -> None:
        with self.progress.together(fence):
            self._session.execute(
                f"DELETE FROM {self.progress.table('restarts')} WHERE task = %s AND source_table = %s",
                [fence.task, source],
            )

    def begin(self, fence: Fence, source: TableName) -> None:
        """Records that a table is about to be emptied: it is at no position of the log any more."""
        with self.progress.together(fence):
            self._session.execute(
                f"UPDATE {self.progress.table('columns')} SET follows = 0 WHERE task = %s AND source_table = %s",
                [fence.task, str(source)],
            )

    def forget_table(self, fence: Fence, source: str, target: TableName | None) -> None:
        """Forgets a table of the source and what was asked for it, as if the task had never had it. `target`: the table
        that was emptied for it, if one was.

        A table that the task has had is listed as one that does not follow, until it joins again.
        """
        with self.progress.together(fence):
            for table in ("chunks", "stopped", "tables", "restarts"):
                self._session.execute(
                    f"DELETE FROM {self.progress.table(table)} WHERE task = %s AND source_table = %s",
                    [fence.task, source],
                )
            self._session.execute(
                f"UPDATE {self.progress.table('columns')} SET planned = %s, follows = 0, types = NULL, "
                "definition = NULL WHERE task = %s AND source_table = %s",
                [json.dumps(FORGOTTEN), fence.task, source],
            )
            for table in ("last_rows", "versions", "not_found") if target is not None else ():
                self._session.execute(
                    f"DELETE FROM {self.progress.table(table)} WHERE task = %s AND target_table = %s",
                    [fence.task, str(target)],
                )

    def hand_over(self, fence: Fence, joining: Fence) -> None:
        """Gives the tables of a task to another one, and forgets the first. They are at the position of the other, or
        stopped.
        """
        with self.progress.together(fence):
            if self.progress.read(joining.task) is None:
                return  # the answer to an earlier try was lost
            self.progress.check(joining)
            self._make_way(fence.task, joining.task)
            if self.progress.is_inexact(joining.task):
                self.progress.set_inexact(fence.task)
            for table in ("chunks", "columns", "stopped", "tables", "last_rows", "versions", "not_found"):
                self._session.execute(
                    f"UPDATE {self.progress.table(table)} SET task = %s WHERE task = %s", [fence.task, joining.task]
                )
            for table in ("lanes", "restarts", "progress", "fence"):
                self._session.execute(f"DELETE FROM {self.progress.table(table)} WHERE task = %s", [joining.task])

    def _make_way(self, task: str, joining: str) -> None:
        """Deletes one of two rows where both tasks have one, of which the first will have both. Of a target table that
        has rows of both it keeps the later change, and forgets what each has written last: that is half of it.
        """
        known, coming = self.progress.versions(task), self.progress.versions(joining)
        for name in known.keys() & coming.keys():
            self._delete(task if known[name].at <= coming[name].at else joining, "versions", "target_table", name)
        for name in self._names(task, "last_rows", "target_table") & self._names(joining, "last_rows", "target_table"):
            self._delete(joining, "last_rows", "target_table", name)
            self._session.execute(
                f"UPDATE {self.progress.table('last_rows')} SET applied = %s WHERE task = %s AND target_table = %s",
                ["{}", task, name],
            )
        for name in self.progress.forgotten(task) & self.progress.columns(joining).keys():
            self._delete(task, "columns", "source_table", name)
        for name in self.progress.stopped(task).keys() & self.progress.stopped(joining).keys():
            self._delete(joining, "stopped", "source_table", name)

    def _names(self, task: str, table: str, column: str) -> set[str]:
        rows = self._session.rows(f"SELECT {column} FROM {self.progress.table(table)} WHERE task = %s", [task])
        return {str(name) for (name,) in rows}

    def _delete(self, task: str, table: str, column: str, name: str) -> None:
        self._session.execute(
            f"DELETE FROM {self.progress.table(table)} WHERE task = %s AND {column} = %s", [task, name]
        )
