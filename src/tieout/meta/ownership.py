"""Whose a running job is: only the process that created or resumed it last may record for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, case, select, update

from tieout.errors import MetaStoreError, UsageError
from tieout.meta.owners import is_gone, this_process
from tieout.meta.records import JobState, Wanted
from tieout.meta.schema import jobs

HEARTBEAT_SECONDS = 5
"""How often a running job should be heard of."""

STALE_AFTER = timedelta(seconds=60)
"""A running job not heard of for this long counts as interrupted."""


def now() -> datetime:
    return datetime.now(UTC)


def touch(connection: Connection, job_id: str) -> None:
    """Marks the job as alive and locks it to the end of the transaction; refuses if it is not ours (any more)."""
    # One that was thought dead (a laptop asleep) and is not, is running again.
    revived = case((jobs.c.state == JobState.INTERRUPTED, JobState.RUNNING.value), else_=jobs.c.state)
    beat = (
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.owner == this_process())
        .values(heartbeat_at=now(), updated_at=now(), state=revived)
    )
    if connection.execute(beat).rowcount == 0:
        raise _not_ours(connection, job_id)


def _not_ours(connection: Connection, job_id: str) -> MetaStoreError | UsageError:
    row = connection.execute(
        select(jobs.c.state, jobs.c.owner, jobs.c.pid, jobs.c.host).where(jobs.c.id == job_id)
    ).one_or_none()
    if row is None:
        return UsageError(f"there is no job {job_id}", "see `tieout jobs list`")
    if row.owner is None:
        return MetaStoreError(f"job {job_id} is {row.state}: nothing more can be recorded", "resume it, or start anew")
    return MetaStoreError(
        f"job {job_id} was resumed by another process ({row.pid} on {row.host}); this one records no more"
    )


def mark_interrupted(connection: Connection) -> int:
    """Gives up running jobs whose process is gone or silent; returns how many."""
    running = select(jobs.c.id, jobs.c.owner, jobs.c.heartbeat_at, jobs.c.wanted).where(
        jobs.c.state == JobState.RUNNING
    )
    marked = 0
    for row in connection.execute(running).all():
        if is_stale(row.owner, row.heartbeat_at):
            cancelled = row.wanted == Wanted.CANCEL
            marked += connection.execute(
                update(jobs)
                .where(
                    jobs.c.id == row.id,
                    jobs.c.state == JobState.RUNNING,
                    jobs.c.heartbeat_at == row.heartbeat_at,  # not one that was heard of since
                )
                .values(
                    state=JobState.CANCELLED if cancelled else JobState.INTERRUPTED,
                    owner=None if cancelled else row.owner,
                    finished_at=now() if cancelled else None,
                    wanted=None,
                    updated_at=now(),
                )
            ).rowcount
    return marked


def any_stale(connection: Connection) -> bool:
    running = select(jobs.c.owner, jobs.c.heartbeat_at).where(jobs.c.state == JobState.RUNNING)
    return any(is_stale(row.owner, row.heartbeat_at) for row in connection.execute(running).all())


def is_stale(owner: str | None, heartbeat_at: datetime) -> bool:
    return owner is None or is_gone(owner) or now() - heartbeat_at > STALE_AFTER
