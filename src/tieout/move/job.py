"""A move as a job of the meta store, which any terminal can see and control."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Source, Target
from tieout.connectors.registry import open_target
from tieout.errors import UsageError
from tieout.meta import Job, JobKind, JobState, MetaStore
from tieout.model.levels import Levels
from tieout.model.moves import CAUGHT_UP, FAILED, STOPPED, STOPPED_IN_PART
from tieout.model.redaction import values_hidden
from tieout.model.requests import MoveRequest
from tieout.move.mover import Mover
from tieout.move.status import StatusKeeper
from tieout.move.table_mover import TableMover
from tieout.runtime.control import HoldingControl
from tieout.runtime.job import Interrupted, running
from tieout.runtime.lease import owner, task_lease
from tieout.runtime.throttle import Throttle


@dataclass
class MoveJob:
    """One task on two open endpoints. `shown` are their URLs without secrets."""

    store: MetaStore
    request: MoveRequest
    levels: Levels
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target_url: EndpointUrl
    shown: tuple[str, str]
    show: Callable[[StatusKeeper], None]

    def run(
        self, session: Callable[[], SparkSession], *, until_caught_up: bool = False, finish: bool = False
    ) -> StatusKeeper:
        """Moves until it is stopped. Whatever ends it, the job's state in the store says so."""
        job = self._begin()
        self.status = StatusKeeper(self.store.moves, job.id, self.request, self.levels)
        try:
            with running(self.store.jobs, job.id, self._ended, redact=self.request.redact_values):
                self.status.become("starting")  # replaces the status of an earlier mover
                with closing(open_target(self.target_url)) as target, values_hidden(self.request.redact_values):
                    self._move(target, session, until_caught_up=until_caught_up, finish=finish)
                verdict = STOPPED_IN_PART if self.status.stopped_tables else None
                self.status.become(verdict or CAUGHT_UP)
                self.store.jobs.finish(job.id, verdict=verdict)
        except Interrupted as interrupted:
            if interrupted.state is not JobState.STOPPED:
                raise
        return self.status

    def _ended(self, state: JobState, error: str | None) -> None:
        self.status.become(FAILED if state is JobState.FAILED else STOPPED, error)

    def _begin(self) -> Job:
        for job in self.store.jobs.list(limit=1, state=JobState.RUNNING, task=self.request.task, kind=JobKind.MOVE):
            raise UsageError(
                f"the task {self.request.task} is already running (process {job.pid} on {job.host})",
                f"end it with: tieout stop {self.request.task}",
            )
        return self.store.jobs.create(
            JobKind.MOVE,
            source=self.shown[0],
            target=self.shown[1],
            request={
                "task": self.request.task,
                "delivery": self.levels.delivery.value,
                "consistency": self.levels.consistency.value,
            },
            task=self.request.task,
        )

    def _move(
        self, target: Target, session: Callable[[], SparkSession], *, until_caught_up: bool, finish: bool
    ) -> None:
        target.prepare()
        throttle = Throttle(self.request.options, self.target_url)
        control = HoldingControl(
            self.store.jobs, self.status.job_id, throttle.reason, lambda: self.status.state, self.status.become
        )
        with task_lease(target, self.target_url, self.request.task) as fence:
            tables = TableMover(
                self.request,
                self.levels,
                self.endpoints,
                self.source,
                target,
                lambda: open_target(self.target_url),
                fence,
                self.store.moves,
                self.status,
                control,
                throttle,
                self.show,
            )
            mover = Mover(tables, owner(), tables.open_target)
            mover.run(session, until_caught_up=until_caught_up, finish=finish)
