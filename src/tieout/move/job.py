"""A move as a job of the meta store, which any terminal can look at and steer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.base import Endpoint
from tieout.connectors.moving import Source, Target
from tieout.connectors.registry import open_target
from tieout.errors import TieoutError, UsageError
from tieout.meta import Job, JobKind, JobState, MetaStore
from tieout.model.move_requests import MoveRequest
from tieout.model.move_states import CAUGHT_UP, FAILED, STOPPED, STOPPED_IN_PART
from tieout.model.redaction import values_hidden, without_values
from tieout.move.mover import Mover
from tieout.move.status import StatusKeeper
from tieout.runtime.control import Steering, StopAsked
from tieout.runtime.heartbeat import heartbeat
from tieout.runtime.lease import owned
from tieout.runtime.throttle import Throttle


@dataclass
class MoveJob:
    """One task on two open endpoints. `shown` are their URLs without secrets."""

    store: MetaStore
    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target_url: EndpointUrl
    shown: tuple[str, str]
    tell: Callable[[StatusKeeper], None]

    def run(self, session: Callable[[], SparkSession], *, until_caught_up: bool = False) -> StatusKeeper:
        """Moves until it is stopped. Whatever ends it, the job's state in the store says so."""
        job = self._begin()
        self.status = StatusKeeper(self.store.moves, job.id, self.request)
        try:
            self.status.become("starting")  # what an earlier mover said is not so any more
            with heartbeat(self.store.jobs, job.id), closing(open_target(self.target_url)) as target:
                with values_hidden(self.request.redact_values):
                    self._move(target, session, until_caught_up=until_caught_up)
            verdict = STOPPED_IN_PART if self.status.stopped_tables else None
            self.status.become(verdict or CAUGHT_UP)
            self.store.jobs.finish(job.id, verdict=verdict)
        except StopAsked:
            self.status.become(STOPPED)
            self.store.jobs.stop(job.id, JobState.STOPPED)
        except KeyboardInterrupt:
            self.status.become(STOPPED)
            self.store.jobs.stop(job.id, JobState.INTERRUPTED)
            raise
        except BaseException as error:  # whatever it is: a mover that is gone must not be told as one that follows
            self._fail(job, error)
            raise
        return self.status

    def _fail(self, job: Job, error: BaseException) -> None:
        known = isinstance(error, TieoutError)
        line = scrub(str(error) if known else f"{type(error).__name__}: {error}".splitlines()[0])
        line = without_values(line) if self.request.redact_values else line
        with suppress(TieoutError):  # a store that is gone, too: the error itself says more
            self.status.become(FAILED, line)
            self.store.jobs.fail(job.id, line)

    def _begin(self) -> Job:
        for job in self.store.jobs.list(limit=1, state=JobState.RUNNING, task=self.request.task, kind=JobKind.MOVE):
            raise UsageError(
                f"the task {self.request.task} is being run already (process {job.pid} on {job.host})",
                f"tieout stop {self.request.task} ends it",
            )
        return self.store.jobs.create(
            JobKind.MOVE,
            source=self.shown[0],
            target=self.shown[1],
            request={"task": self.request.task, "delivery": self.request.delivery.value},
            task=self.request.task,
        )

    def _move(self, target: Target, session: Callable[[], SparkSession], *, until_caught_up: bool) -> None:
        target.prepare()
        with owned(target, self.target_url, self.request.task) as fence:
            mover = Mover(
                self.request,
                self.endpoints,
                self.source,
                target,
                fence,
                self.store.moves,
                self.status,
                Steering(self.store, self.status.job_id, self.status, Throttle(self.request.options, self.target_url)),
                self.tell,
            )
            mover.run(session, until_caught_up=until_caught_up)
