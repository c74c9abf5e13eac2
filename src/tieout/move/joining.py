"""Tables that join a task which follows its log already: those created later, and those that are copied again.

They are copied and followed as a task of their own, with a log and a progress of their own, while the others go on.
Once both are at one position, one transaction of the target hands them over.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from tieout.errors import UnsupportedError, UsageError
from tieout.failpoints import reach
from tieout.model.levels import Levels
from tieout.model.moves import Consistency, Delivery, joining_task
from tieout.model.tables import TableName
from tieout.move.preflight import MovePreflight
from tieout.move.status import StatusKeeper
from tieout.move.table_mover import AllStopped, TableMover

LEVELS = Levels(Delivery.EXACTLY_ONCE, Consistency.TRANSACTION)


@dataclass
class JoiningStatus(StatusKeeper):
    """Counts in the tables of the task's status, and has no state of its own there."""

    task_status: StatusKeeper | None = None

    def become(self, state: str, message: str | None = None) -> None:
        self.state, self.message = state, message

    def store(self, *, now: bool = False) -> None:
        assert self.task_status is not None
        self.task_status.store(now=now)


@dataclass
class Joining:
    """Brings the late tables of a task to where its other tables are. `tables` moves those others."""

    tables: TableMover
    owner: str

    def run(self, spark: SparkSession) -> None:
        """Returns when the late tables belong to the task, or were stopped. Whatever ends it, it goes on where it was.

        Those that come while others join wait for the next time.
        """
        main, task = self.tables, self._task
        begun = {name for name in main.late if str(name) in main.target.progress.planned_columns(task)}
        names = frozenset(begun) or self._fit(main.late)
        if not names:
            return
        # First, so that the others' log lacks nothing that the log of those that join has not.
        main.retried(lambda: main.source.add_tables(main.request.task, sorted(names)))
        reach("tables-added")
        fence = main.retried(lambda: main.target.progress.take(task, self.owner))
        status = JoiningStatus(main.status.moves, main.status.job_id, main.request, LEVELS, task_status=main.status)
        status.tables = main.status.tables
        request = replace(main.request, task=task)
        joining = replace(
            main, request=request, levels=LEVELS, fence=fence, status=status, changed=lambda: False, only=names
        )
        main.status.become("following", _words(names))
        try:
            joining.plan(lambda: spark)
        except (UnsupportedError, UsageError) as error:
            for name in names:
                main.target.progress.stop_table(main.fence, name, str(error))
            self.abandon()
            return
        with suppress(AllStopped):  # the task's status says why from now on
            self._catch_up(spark, joining)
        reach("before-joining")
        main.retried(lambda: main.target.progress.hand_over(main.fence, fence))
        reach("after-joining")
        main.status.remarks += status.remarks
        self.clean()

    def _fit(self, late: frozenset[TableName]) -> frozenset[TableName]:
        """Stops the tables that a preflight would refuse: it may have been made before they were there."""
        main = self.tables
        ahead = MovePreflight(main.request, main.endpoints, main.source, main.target)
        prevented = main.retried(lambda: ahead.prevented(late))
        for name, reason in prevented.items():
            main.target.progress.stop_table(main.fence, name, reason)
        return late - prevented.keys()

    def _catch_up(self, spark: SparkSession, joining: TableMover) -> None:
        main = self.tables
        while joining.copy_wave(spark):
            main.catch_up(spark)
        reach("joining-copied")
        joining.index(spark)
        while True:
            goal = main.reached()
            if not joining.reached().reaches(goal):
                joining.follow(spark, joining.next_ends(goal))
            highest, here = joining.highest_chunk(), joining.reached()
            if here.is_same_place(goal) and (highest is None or here.reaches(highest)):
                return
            main.catch_up(spark)

    @property
    def _task(self) -> str:
        return joining_task(self.tables.request.task)

    def clean(self) -> None:
        """Removes what tables that have joined left at the source."""
        if self.tables.retried(lambda: self.tables.target.progress.read(self._task)) is None:
            self.tables.retried(lambda: self.tables.source.drop_task(self._task))

    def abandon(self) -> None:
        """Removes what tables that do not join any more left at both sides."""
        main = self.tables
        main.target.drop_task(main.target.progress.take(self._task, self.owner))
        main.source.drop_task(self._task)


def _words(names: Iterable[TableName]) -> str:
    return f"copying {', '.join(map(str, sorted(names)))} beside the others"
