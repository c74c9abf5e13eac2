"""How jobs end before they are done: stopped from another terminal, by Ctrl-C, or by an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tieout.errors import TieoutError
from tieout.meta import JobState, Wanted
from tieout.meta.jobs import Jobs


class Stopped(Exception):
    """Another terminal wants this job to pause or to end."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a pause or cancellation from another terminal; `job` can be resumed unless it was cancelled."""

    def __init__(self, job: str, state: JobState) -> None:
        super().__init__(job, state)
        self.job = job
        self.state = state


@contextmanager
def end_is_kept(jobs: Jobs, job_id: str) -> Iterator[None]:
    """Whatever ends the block early, the job's state in the store says so; Interrupted, if somebody wanted it."""
    try:
        yield
    except Stopped as stopped:
        state = JobState.PAUSED if stopped.wanted is Wanted.PAUSE else JobState.CANCELLED
        jobs.stop(job_id, state)
        raise Interrupted(job_id, state) from None
    except KeyboardInterrupt:
        jobs.stop(job_id, JobState.INTERRUPTED)
        raise Interrupted(job_id, JobState.INTERRUPTED) from None
    except TieoutError as error:
        jobs.fail(job_id, str(error))
        raise
