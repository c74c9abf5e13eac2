"""Jobs: long work that any terminal can see and control; and the tables of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from tieout.errors import UsageError
from tieout.meta import ownership
from tieout.meta.database import Database
from tieout.meta.ids import find, new_id
from tieout.meta.ownership import any_stale, mark_interrupted, now, touch
from tieout.meta.records import Job, JobKind, JobState, JobTable, TableState, Wanted
from tieout.meta.schema import job_tables, jobs
from tieout.model.defaults import LISTED_JOBS

RESUMABLE = (JobState.PAUSED, JobState.INTERRUPTED, JobState.FAILED)

# The result document may be large, and `owner` is internal.
_COLUMNS = tuple(column for column in jobs.c if column.name not in ("result", "owner"))


class Jobs:
    """The jobs of a store. Methods that record for a job refuse if another process has resumed it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        kind: JobKind,
        *,
        source: str,
        target: str | None,
        request: Mapping[str, Any],
        task: str | None = None,
    ) -> Job:
        """Creates a running job of this process. The caller has redacted the URLs and `request`."""
        with self._database.write() as connection:
            at = now()
            job_id = new_id(kind[0], at)
            while _get(connection, job_id) is not None:
                job_id = new_id(kind[0], at)
            values = {"id": job_id, "kind": kind, "task": task, "source": source, "target": target}
            times = {"started_at": at, "updated_at": at, "heartbeat_at": at}
            connection.execute(
                insert(jobs).values(**values, **times, **_this_process(), state=JobState.RUNNING, request=dict(request))
            )
            return _one(connection, job_id)

    def get(self, reference: str) -> Job:
        """The job with this id, the only one whose id starts with it, or the newest for `last`."""
        self._interrupt_dead_jobs()
        with self._database.read() as connection:
            return find_job(connection, reference)

    def list(
        self,
        *,
        limit: int = LISTED_JOBS,
        state: JobState | None = None,
        task: str | None = None,
        kind: JobKind | None = None,
    ) -> list[Job]:
        """The newest jobs first. Running ones whose process is gone or silent become interrupted."""
        self._interrupt_dead_jobs()
        query = select(*_COLUMNS).order_by(jobs.c.started_at.desc(), jobs.c.id.desc()).limit(limit)
        if state is not None:
            query = query.where(jobs.c.state == state)
        if task is not None:
            query = query.where(jobs.c.task == task)
        if kind is not None:
            query = query.where(jobs.c.kind == kind)
        with self._database.read() as connection:
            return [_job(row) for row in connection.execute(query)]

    def result(self, job_id: str) -> dict[str, Any] | None:
        """The result document of a job that has one."""
        with self._database.read() as connection:
            document: dict[str, Any] | None = connection.scalar(select(jobs.c.result).where(jobs.c.id == job_id))
            return document

    def heartbeat(self, job_id: str) -> Wanted | None:
        """Records that this process still runs the job; returns what another terminal wants of it."""
        with self._database.write() as connection:
            touch(connection, job_id)
            return _wanted(connection, job_id)

    def wanted(self, job_id: str) -> Wanted | None:
        with self._database.read() as connection:
            return _wanted(connection, job_id)

    def set_wanted(self, reference: str, wanted: Wanted | None) -> Job:
        """Asks the job's process to pause or cancel (None: to go on); without a process, cancels at once."""
        self._interrupt_dead_jobs()
        with self._database.write() as connection:
            job = find_job(connection, reference)
            change = update(jobs).where(jobs.c.id == job.id, jobs.c.state == job.state)
            if job.state is JobState.RUNNING:
                change = change.values(wanted=wanted, updated_at=now())
            elif wanted is Wanted.CANCEL and job.state in RESUMABLE:
                change = change.values(state=JobState.CANCELLED, owner=None, updated_at=now(), finished_at=now())
            else:
                raise UsageError(f"job {job.id} is {job.state}: there is nothing to {wanted or 'change'}")
            connection.execute(change)
            return _one(connection, job.id)

    def resume(self, reference: str) -> Job:
        """Makes this process the only one that runs the job: an earlier one can no longer record."""
        self._interrupt_dead_jobs()
        with self._database.write() as connection:
            job = find_job(connection, reference)
            if job.state is not JobState.RUNNING and job.state not in RESUMABLE:
                raise UsageError(f"job {job.id} is {job.state} and can't be resumed", "start a new one")
            taken = connection.execute(
                update(jobs)
                .where(jobs.c.id == job.id, jobs.c.state == job.state, jobs.c.heartbeat_at == job.heartbeat_at)
                .where(or_(jobs.c.state != JobState.RUNNING, jobs.c.owner == ownership.this_process()))
                .values(
                    state=JobState.RUNNING, heartbeat_at=now(), updated_at=now(), finished_at=None, **_this_process()
                )
                .values(wanted=None, error=None)
            )
            if taken.rowcount == 0:
                raise UsageError(
                    f"job {job.id} is already running (process {job.pid} on {job.host})",
                    f"pause it there: tieout jobs pause {job.id}",
                )
            return _one(connection, job.id)

    def finish(self, job_id: str, *, verdict: str | None, result: Mapping[str, Any] | None = None) -> Job:
        return self._end(job_id, JobState.DONE, verdict=verdict, result=None if result is None else dict(result))

    def fail(self, job_id: str, error: str) -> Job:
        return self._end(job_id, JobState.FAILED, error=error)

    def stop(self, job_id: str, state: JobState) -> Job:
        """Leaves the job paused, cancelled or interrupted, as another terminal wanted."""
        return self._end(job_id, state)

    def _end(self, job_id: str, state: JobState, **values: Any) -> Job:
        with self._database.write(survives_power_loss=True) as connection:
            touch(connection, job_id)
            finished_at = None if state is JobState.PAUSED else now()
            connection.execute(
                update(jobs)
                .where(jobs.c.id == job_id)
                .values(state=state, wanted=None, owner=None, finished_at=finished_at, **values)
            )
            return _one(connection, job_id)

    def _interrupt_dead_jobs(self) -> None:
        with self._database.read() as connection:
            if not any_stale(connection):
                return  # the usual case: reading takes no lock
        with self._database.write() as connection:
            mark_interrupted(connection)


def find_job(connection: Connection, reference: str) -> Job:
    """The job that `reference` means; UsageError if it means none or several."""
    newest_first = select(*_COLUMNS).order_by(jobs.c.started_at.desc(), jobs.c.id.desc())
    row = find(connection, newest_first, jobs.c.id, reference)
    if row is None:
        raise UsageError(f"there is no job {reference!r}", "see `tieout jobs list`")
    return _job(row)


def _get(connection: Connection, job_id: str) -> Job | None:
    row = connection.execute(select(*_COLUMNS).where(jobs.c.id == job_id)).one_or_none()
    return None if row is None else _job(row)


def _one(connection: Connection, job_id: str) -> Job:
    return _job(connection.execute(select(*_COLUMNS).where(jobs.c.id == job_id)).one())


def _wanted(connection: Connection, job_id: str) -> Wanted | None:
    wanted = connection.scalar(select(jobs.c.wanted).where(jobs.c.id == job_id))
    return None if wanted is None else Wanted(wanted)


def _this_process() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": ownership.host(), "owner": ownership.this_process()}


def _job(row: Any) -> Job:
    values = dict(row._mapping)
    values["kind"] = JobKind(row.kind)
    values["state"] = JobState(row.state)
    values["wanted"] = None if row.wanted is None else Wanted(row.wanted)
    return Job(**values)


class JobTables:
    """A job's tables, numbered from 0 in the order they were given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, job_id: str, tables: Sequence[tuple[str | None, str | None]]) -> tuple[JobTable, ...]:
        """Sets the job's tables, as pairs of source and target names; deletes what was recorded for others."""
        rows = [
            {"job_id": job_id, "ordinal": ordinal, "source_table": source, "target_table": target}
            for ordinal, (source, target) in enumerate(tables)
        ]
        with self._database.write() as connection:
            touch(connection, job_id)
            connection.execute(delete(job_tables).where(job_tables.c.job_id == job_id))
            if rows:
                connection.execute(insert(job_tables).values(state=TableState.PLANNED, rows_done=0), rows)
        return tuple(JobTable(ordinal, source, target) for ordinal, (source, target) in enumerate(tables))

    def all(self, job_id: str) -> tuple[JobTable, ...]:
        query = select(job_tables).where(job_tables.c.job_id == job_id).order_by(job_tables.c.ordinal)
        with self._database.read() as connection:
            return tuple(_table(row) for row in connection.execute(query))

    def start(self, job_id: str, ordinal: int, *, plan: Mapping[str, Any], seed: str | None = None) -> None:
        """Stores how the job verifies the table, so that a resumed job does it the same way."""
        self._set(job_id, ordinal, state=TableState.RUNNING, plan=dict(plan), seed=seed)

    def finish(self, job_id: str, ordinal: int, result: Mapping[str, Any]) -> None:
        self._set(job_id, ordinal, state=TableState.DONE, result=dict(result))

    def _set(self, job_id: str, ordinal: int, **values: Any) -> None:
        change = update(job_tables).where(job_tables.c.job_id == job_id, job_tables.c.ordinal == ordinal)
        with self._database.write() as connection:
            touch(connection, job_id)
            if connection.execute(change.values(**values)).rowcount == 0:
                raise ValueError(f"job {job_id} has no table {ordinal}")


def _table(row: Any) -> JobTable:
    return JobTable(
        ordinal=row.ordinal,
        source_table=row.source_table,
        target_table=row.target_table,
        state=TableState(row.state),
        plan=row.plan,
        seed=row.seed,
        result=row.result,
        rows_done=row.rows_done,
    )
