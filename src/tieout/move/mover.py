"""The move itself: copies the tables of a task, follows them, and lets others join meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tieout.connectors.protocols.move import Target
from tieout.errors import TieoutError, UsageError
from tieout.failpoints import reach
from tieout.model.finish import NotFinished
from tieout.move.finish import Finishing
from tieout.move.joining import Joining
from tieout.move.restarts import Restarts
from tieout.move.table_mover import TableMover, TablesChanged
from tieout.tasks.routing import routes

_LOOK_SECONDS = 10.0


@dataclass
class Mover:
    """Moves one task, whose lease this process has. `owner` names the process."""

    tables: TableMover
    owner: str
    open_target: Callable[[], Target]
    _looked_at: float = field(init=False, default_factory=time.monotonic)
    _remarked: str | None = field(init=False, default=None)

    def run(self, session: Callable[[], SparkSession], *, until_caught_up: bool, finish: bool = False) -> None:
        """Moves until it is stopped (Stopped), or until it has caught up with the log's end after the copy.

        `finish`: then prepares the target for applications.
        """
        tables, joining = self.tables, Joining(self.tables, self.owner)
        restarts = Restarts(tables.request, tables.endpoints, tables.target)
        tables.changed = self._changed
        joining.clean()
        while True:
            tables.status.remarks += tables.retried(lambda: restarts.run(tables.fence))
            tables.plan(session)
            spark = session()
            if tables.transfers:
                tables.copy(spark)
                tables.status.become("following")
                tables.catch_up(spark)
                # Finishing does so for all tables.
                tables.finish(counters=not finish)
                reach("after-switch")
            if tables.late:
                joining.run(spark)
                continue
            if finish:
                self._prepare_target()
            if until_caught_up or finish:
                return
            with suppress(TablesChanged):
                tables.follow(spark, None)

    def _prepare_target(self) -> None:
        tables = self.tables
        tables.status.become("finishing")
        stopped = [NotFinished(each.source, str(each.stopped)) for each in tables.status.stopped_tables]
        finishing = Finishing(
            tables.source,
            tables.target,
            tables.endpoints,
            tables.fence,
            tables.creator,
            tables.transfers,
            stopped,
            tables.request.redact_values,
        )
        tables.status.finish = tables.retried(finishing.run)
        tables.retried(lambda: tables.target.mark_altered(tables.fence, tables.transfers))

    def _changed(self) -> bool:
        """Looks every few seconds whether the task has other tables than when they were planned."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = time.monotonic()
        task = self.tables.request.task
        try:
            found = routes(*self.tables.endpoints, self.tables.request)
            with closing(self.open_target()) as target:  # the merger has the mover's own connection
                asked = target.restarts.requested(task)
                known = target.progress.planned_columns(task).keys() | target.progress.stopped(task).keys()
        except UsageError as error:
            self._remark(f"no table can join the task: {error}")
            return False
        except TieoutError:
            return False  # what the mover needs to go on, it notices itself
        self._remark(None)
        return bool(asked) or any(str(route.source) not in known for route in found)

    def _remark(self, remark: str | None) -> None:
        """Says why no table can join, as long as that is so."""
        if remark != self._remarked:
            remarks = self.tables.status.remarks
            remarks[:] = [each for each in remarks if each != self._remarked] + ([remark] if remark else [])
            self._remarked = remark
