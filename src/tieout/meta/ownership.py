"""Which process owns a running job: only the one that created or resumed it last may record for it."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, case, select, update

from tieout.errors import MetaStoreError, UsageError
from tieout.meta.records import JobState, Wanted
from tieout.meta.schema import jobs

HEARTBEAT_SECONDS = 5
"""How often a running job writes a heartbeat."""

STALE_AFTER = timedelta(seconds=60)
"""A running job without a heartbeat for this long counts as interrupted."""


def now() -> datetime:
    return datetime.now(UTC)


def touch(connection: Connection, job_id: str) -> None:
    """Writes a heartbeat and locks the job until the transaction ends; raises if this process does not own it."""
    # A job that was taken for dead (a laptop asleep) and is not, is running again.
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
        return MetaStoreError(
            f"job {job_id} is {row.state}: this process can no longer record for it", "resume it, or start a new one"
        )
    return MetaStoreError(
        f"another process ({row.pid} on {row.host}) resumed job {job_id}; this one can no longer record"
    )


def mark_interrupted(connection: Connection) -> int:
    """Marks running jobs whose process is gone or silent as interrupted; returns how many."""
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
                    jobs.c.heartbeat_at == row.heartbeat_at,  # not one that has written a heartbeat since
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


def host() -> str:
    return socket.gethostname()


def this_process() -> str:
    """A name that no other process has, on this machine or elsewhere, earlier or later."""
    return _name_of(os.getpid())  # computed each time: a fork is another process


def is_gone(owner: str) -> bool:
    """True only if `owner` ran on this machine and has ended; for other machines it can't be known here."""
    machine, pid, started = owner.split(":")
    if machine != _machine():
        return False
    return _started(int(pid)) != started


@functools.lru_cache(maxsize=8)
def _name_of(pid: int) -> str:
    return f"{_machine()}:{pid}:{_started(pid)}"


@functools.cache
def _machine() -> str:
    """Host, boot and process namespace: two containers may share a host name, but not their pids."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    parts = [host(), boot.read_text().strip() if boot.exists() else ""]
    parts.append(str(namespace.stat().st_ino) if namespace.exists() else "")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _started(pid: int) -> str:
    """When `pid` started, so that nobody mistakes a reused pid for the old process; "gone" if it has ended."""
    if not Path("/proc/self/stat").exists():
        return "alive" if _answers(pid) else "gone"
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"
    # The command is in parentheses and may contain spaces; the fields after it are safe to split.
    fields = stat.rpartition(")")[2].split()
    return "gone" if fields[0] in "ZX" else fields[19]


def _answers(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 is Ctrl-C on Windows: only the heartbeat decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
