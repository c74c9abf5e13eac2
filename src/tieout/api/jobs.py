"""Jobs of the meta store, listed and controlled from any terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, JobState, JobTable, Wanted, open_store
from tieout.model.defaults import LISTED_JOBS
from tieout.model.nearest import chosen


@dataclass(frozen=True, slots=True)
class JobTableStatus:
    """How far a job is with one table; `verdict` and `strategy` are None until they are known."""

    source_table: str | None
    target_table: str | None
    state: str
    verdict: str | None
    rows_done: int
    strategy: str | None


@dataclass(frozen=True, slots=True)
class JobDetails:
    """A job and its tables. `result` is the JSON document that the job stored, if there is one."""

    job: Job
    tables: tuple[JobTableStatus, ...]
    result: Mapping[str, object] | None


def list_jobs(
    meta: str = DEFAULT_URL, *, limit: int = LISTED_JOBS, state: JobState | str | None = None, task: str | None = None
) -> list[Job]:
    """Jobs, newest first."""
    wanted = None if state is None else chosen(JobState, state, "state")
    with open_store(meta) as store:
        return store.jobs.list(limit=limit, state=wanted, task=task)


def show_job(reference: str, meta: str = DEFAULT_URL) -> JobDetails:
    """A job by its id, by the beginning of one, or the newest for `last`."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
        tables = tuple(map(_table_status, store.tables.all(job.id)))
        return JobDetails(job, tables, store.jobs.result(job.id))


def _table_status(table: JobTable) -> JobTableStatus:
    return JobTableStatus(
        table.source_table,
        table.target_table,
        table.state.value,
        (table.result or {}).get("verdict"),
        table.rows_done,
        (table.plan or {}).get("strategy"),
    )


def resumable_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """The job, if it is a verification that can be resumed. It needs no Spark."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
    if job.kind is not JobKind.VERIFICATION or job.state in (JobState.DONE, JobState.CANCELLED):
        raise UsageError(f"job {job.id} is a {job.kind} that is {job.state}: it can't be resumed", "start a new one")
    return job


def pause_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """Asks the process that runs the job to stop and keep its progress."""
    with open_store(meta) as store:
        return store.jobs.set_wanted(reference, Wanted.PAUSE)


def cancel_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """Ends a job for good: at once, or by asking the process that runs it."""
    with open_store(meta) as store:
        return store.jobs.set_wanted(reference, Wanted.CANCEL)
