"""The move itself: copies the tables of a task, follows them, and lets others join meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tieout.connectors.protocols.move import Target
from tieout.errors import TieoutError
from tieout.failpoints import reach
from tieout.move.joining import Joining, restart_asked
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

    def run(self, session: Callable[[], SparkSession], *, until_caught_up: bool) -> None:
        """Moves until it is stopped (Stopped), or until it has caught up with the log's end after the copy."""
        tables, joining = self.tables, Joining(self.tables, self.owner)
        tables.changed = self._changed
        joining.clean()
        while True:
            tables.status.remarks += tables.retried(lambda: restart_asked(tables))
            tables.plan()
            spark = session()
            if tables.transfers:
                tables.copy(spark)
                tables.status.become("following")
                tables.catch_up(spark)
                tables.finish()
                reach("after-switch")
            if tables.late:
                joining.run(spark)
                continue
            if until_caught_up:
                return
            with suppress(TablesChanged):
                tables.follow(spark, None)

    def _changed(self) -> bool:
        """Looks every few seconds whether the task has other tables than when they were planned."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = time.monotonic()
        task = self.tables.request.task
        with suppress(TieoutError), closing(self.open_target()) as target:  # the merger has the mover's own connection
            if target.progress.restarts(task):
                return True
            known = target.progress.planned_columns(task).keys() | target.progress.stopped(task).keys()
            return any(str(route.source) not in known for route in routes(*self.tables.endpoints, self.tables.request))
        return False
