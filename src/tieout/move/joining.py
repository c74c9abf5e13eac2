"""Tables that join a task which follows its log already: those created later, and those that are copied again.

They are copied and followed as a task of their own, with a log and a progress of their own, while the others go on.
Once both are at one position, one transaction of the target hands them over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from tieout.errors import (
    LogLostError,
    MissingObjectError,
    ReadError,
    UnsupportedError,
    UsageError,
    WriteError,
)
from tieout.failpoints import reach
from tieout.model.levels import Levels
from tieout.model.moves import Consistency, Delivery, joining_task
from tieout.model.positions import Position
from tieout.model.tables import TableName
from tieout.move.plan import AWAY
from tieout.move.preflight import MovePreflight
from tieout.move.status import StatusKeeper
from tieout.move.table_mover import AllStopped, TableMover
from tieout.move.ways import Ways
from tieout.tasks.expressions import refuse_wrong_expressions
from tieout.tasks.routing import routes

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
        main = self.tables
        begun = {name for name in main.late if str(name) in main.target.progress.planned_columns(self._task)}
        names = self._fit(spark, frozenset(begun) or main.late)
        if not names and begun:
            self.abandon()
        while names:
            try:
                self._join(spark, names)
                break
            except _CanNotJoin as error:
                there = names & self._there()
                if there in (names, frozenset()):
                    self.abandon(names, str(error))
                    break
                names = there  # without those that are gone by now

    def _there(self) -> set[TableName]:
        main = self.tables
        return {route.source for route in main.retried(lambda: routes(*main.endpoints, main.request))}

    def _join(self, spark: SparkSession, names: frozenset[TableName]) -> None:
        main, task = self.tables, self._task
        # First, so that the others' log lacks nothing that the log of those that join has not.
        with _of_those_that_join():
            main.retried(lambda: main.source.add_tables(main.request.task, sorted(names)))
        reach("tables-added")
        fence = main.retried(lambda: main.target.progress.take(task, self.owner, under=main.fence))
        levels = levels_of(main.levels)
        status = JoiningStatus(main.status.moves, main.status.job_id, main.request, levels, task_status=main.status)
        status.tables = main.status.tables
        request = replace(main.request, task=task)
        joining = replace(
            main, request=request, levels=levels, fence=fence, status=status, changed=lambda: False, only=names
        )
        main.status.become("following", _words(names))
        with suppress(AllStopped):  # the task's status says why from now on
            with _of_those_that_join():
                joining.plan(lambda: spark)
            self._catch_up(spark, joining)
        reach("before-joining")
        # First: until its target has them, the task looks at none of them.
        main.retried(lambda: main.source.hand_over(task, main.request.task, sorted(names)))
        main.retried(lambda: main.target.restarts.hand_over(main.fence, fence))
        reach("after-joining")
        main.status.remarks += status.remarks
        self.clean()

    def _fit(self, spark: SparkSession, late: frozenset[TableName]) -> frozenset[TableName]:
        """Stops the tables that a preflight would refuse: it may have been made before they were there, and they may
        have changed since they began to join.
        """
        main = self.tables
        ahead = MovePreflight(Ways(main.request, main.endpoints, main.source, main.target))
        prevented = main.retried(lambda: ahead.prevented(late, main.levels))
        prevented |= main.retried(lambda: self._wrong(spark, late - prevented.keys()))
        for name, reason in prevented.items():
            main.target.progress.stop_table(main.fence, name, reason)
        return late - prevented.keys()

    def _wrong(self, spark: SparkSession, late: frozenset[TableName]) -> dict[TableName, str]:
        """The tables for which Spark refuses an expression of the task, and why."""
        main = self.tables

        def refused(asked: Collection[TableName]) -> str | None:
            try:
                refuse_wrong_expressions(*main.endpoints, main.request, lambda: spark, lambda name: name not in asked)
            except (UsageError, UnsupportedError) as error:
                return error.message
            return None

        if refused(late) is None:
            return {}
        return {name: reason for name in sorted(late) if (reason := refused({name})) is not None}

    def _catch_up(self, spark: SparkSession, joining: TableMover) -> None:
        main, some_left = self.tables, True
        while some_left:
            with _of_those_that_join():
                some_left = joining.copy_wave(spark)
            if some_left:
                self._others_catch_up(spark)
        reach("joining-copied")
        with _of_those_that_join():
            joining.index(spark)
        while True:
            goal = main.reached()
            with _of_those_that_join():
                here = joining.reached()
                if not here.is_same_log(goal):
                    joining.follow(spark, goal)  # the source has another log: up to the end of that one
                elif not here.reaches(goal):
                    joining.follow(spark, joining.next_ends(goal))
                highest, here = joining.highest_chunk(), joining.reached()
            if self._are_together(here, goal) and (highest is None or here.reaches(highest)):
                return
            self._others_catch_up(spark)

    def _are_together(self, here: Position, goal: Position) -> bool:
        """A lane that is ahead would skip what the tables that join have still to merge of its target."""
        main = self.tables
        return here.is_same_place(goal) and not main.retried(lambda: main.target.lanes.ahead(main.request.task))

    def _others_catch_up(self, spark: SparkSession) -> None:
        with suppress(AllStopped):  # then their log goes on for those that join
            self.tables.catch_up(spark)

    @property
    def _task(self) -> str:
        return joining_task(self.tables.request.task)

    def clean(self) -> None:
        """Removes what tables left at the source that have joined, or that the task no longer has: nobody would read
        their log any more.
        """
        main = self.tables
        progress = main.target.progress
        if main.retried(lambda: progress.read(self._task)) is None:
            main.retried(lambda: main.source.drop_task(self._task))
            return
        wanted = set(map(str, self._there()))
        if not progress.planned_columns(self._task).keys() & wanted - progress.stopped(main.request.task).keys():
            self.abandon()

    def abandon(self, names: Iterable[TableName] = (), reason: str = AWAY) -> None:
        """Stops tables that do not join any more, also those that have begun to, and removes what only joining needs.
        What was copied of them is the task's now, so that a restart empties it.
        """
        main, progress = self.tables, self.tables.target.progress
        fence = main.retried(lambda: progress.take(self._task, self.owner, under=main.fence))
        left = progress.planned_columns(self._task).keys() - progress.stopped(self._task).keys()
        for name in sorted({*map(str, names), *left} - progress.stopped(main.request.task).keys()):
            table = TableName.parse(name)
            assert table is not None
            progress.stop_table(main.fence, table, f"{name}: {reason}" if reason == AWAY else reason)
        main.retried(lambda: main.target.make_stages(fence, ()))  # which drops those of its movers
        main.retried(lambda: main.target.restarts.hand_over(main.fence, fence))
        main.retried(lambda: main.source.drop_task(self._task))


class _CanNotJoin(Exception):
    """Tables that join can't, for a reason that does not concern the others. Its message is the reason."""


@contextmanager
def _of_those_that_join() -> Iterator[None]:
    """Tells what tables that join can't do from what no table can any more."""
    try:
        yield
    except AllStopped:
        raise
    except (UnsupportedError, UsageError, ReadError, WriteError, MissingObjectError, LogLostError) as error:
        raise _CanNotJoin(str(error)) from error


def levels_of(task: Levels) -> Levels:
    """The levels with which tables join a task: the strongest, or the task's where the target may give no more."""
    return task if task.delivery is Delivery.AT_LEAST_ONCE else LEVELS


def _words(names: Iterable[TableName]) -> str:
    return f"copying {', '.join(map(str, sorted(names)))} beside the others"
