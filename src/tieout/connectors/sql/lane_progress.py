"""The progress of lanes, beside that of their task: how far each is that merges on its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tieout.connectors.sql.progress import ProgressTables, moved_on
from tieout.connectors.sql.session import SqlSession
from tieout.model.moves import Fence, Lane, LaneProgress
from tieout.model.positions import Position

if TYPE_CHECKING:
    from tieout.connectors.protocols.move import LaneStep, Merge


@dataclass(frozen=True, slots=True)
class LaneTable:
    progress: ProgressTables

    @property
    def _session(self) -> SqlSession:
        return self.progress.session

    @property
    def _table(self) -> str:
        return self.progress.table("lanes")

    def advance(self, task: str, merge: Merge, step: LaneStep) -> None:
        """Moves one lane to where the batch ends; UnreachableError if it is not where the step begins.

        Of a lane that is a share, other lanes may write the same tables: those versions come with the task's progress.
        """
        where, of_lane = "WHERE task = %s AND lane = %s", [task, step.lane.name]
        found = self._session.rows(f"SELECT applied FROM {self._table} {where}", of_lane)
        if (found[0][0] if found else None) != (None if step.before is None else step.before.text):
            raise moved_on(task, step.before or merge.after)
        if not found:
            self._require_begun(task, step.began)
        values = [merge.upto.text, merge.upto.shown, merge.committed, step.batch]
        if found:
            self._session.execute(
                f"UPDATE {self._table} SET applied = %s, shown = %s, committed = %s, batch = %s {where}",
                [*values, *of_lane],
            )
        else:
            self._session.execute(
                f"INSERT INTO {self._table} (applied, shown, committed, batch, task, lane, target_tables, "
                "share, shares) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [*values, *of_lane, json.dumps(step.lane.tables), step.lane.share, step.lane.shares],
            )
        if step.lane.share is None:
            own = {table: version for table, version in merge.versions.items() if str(table) in step.lane.tables}
            self.progress.write_versions(task, own)

    def _require_begun(self, task: str, began: Position) -> None:
        """An earlier copy of the target has no such lane either, and lacks more than what this step merges."""
        known = self.progress.read(task)
        reached = None if known is None else known.reached
        if reached is None or not (reached.is_same_log(began) and reached.reaches(began)):
            raise moved_on(task, began)

    def ahead(self, task: str) -> list[LaneProgress]:
        """The lanes that are ahead of the task: they have merged more of the log than all have."""
        known = self.progress.read(task)
        low = None if known is None else known.reached
        rows = self._session.rows(
            f"SELECT target_tables, share, shares, applied, batch FROM {self._table} WHERE task = %s "
            "ORDER BY batch, lane",
            [task],
        )
        found = [
            LaneProgress(
                Lane(tuple(json.loads(tables)), None if share is None else int(share), int(of)),
                Position(at),
                int(batch),
            )
            for tables, share, of, at, batch in rows
        ]
        # One of another log was proven to be in the log that the source has now; the task's own position is next.
        return [
            each for each in found if low is None or not (low.is_same_log(each.applied) and low.reaches(each.applied))
        ]

    def keep_ahead(self, fence: Fence) -> list[LaneProgress]:
        """Forgets the lanes that are where the task is, and returns the others.

        The lock waits for merges whose answers were lost: they may still be committed.
        """
        with self.progress.together(fence):
            found = self.ahead(fence.task)
            names = {each.lane.name for each in found}
            for (name,) in self._session.rows(f"SELECT lane FROM {self._table} WHERE task = %s", [fence.task]):
                if name not in names:
                    self._session.execute(
                        f"DELETE FROM {self._table} WHERE task = %s AND lane = %s", [fence.task, name]
                    )
        return found

    def last_batch(self, task: str) -> int:
        """The number of the last batch that all lanes have merged."""
        ((batch,),) = self._session.rows(f"SELECT batch FROM {self.progress.table('progress')} WHERE task = %s", [task])
        return int(batch)

    def rebase(self, fence: Fence, lane: Lane, now: Position) -> None:
        """Records the position of a lane in the log that the source has now."""
        with self.progress.together(fence):
            self._session.execute(
                f"UPDATE {self._table} SET applied = %s, shown = %s WHERE task = %s AND lane = %s",
                [now.text, now.shown, fence.task, lane.name],
            )
