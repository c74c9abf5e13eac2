"""The life cycle of a job: its flow starts or resumes it, it sends heartbeats while it runs, and the store records how
it ended, whatever ended it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tieout.config.secrets import scrub
from tieout.errors import TieoutError
from tieout.meta.jobs import Jobs
from tieout.meta.records import JobState, Wanted
from tieout.model.redaction import without_values
from tieout.runtime.control import Stopped
from tieout.runtime.lease import heartbeat

_STATES = {Wanted.PAUSE: JobState.PAUSED, Wanted.CANCEL: JobState.CANCELLED, Wanted.STOP: JobState.STOPPED}

Ended = Callable[[JobState, str | None], None]
"""Called before the store records that a job ended early, with its state and the error of a job that failed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or another terminal ended `job` before it was done. Unless it was cancelled, it can be resumed."""

    def __init__(self, job: str, state: JobState) -> None:
        super().__init__(job, state)
        self.job = job
        self.state = state


def _nobody(state: JobState, error: str | None) -> None: ...


@contextmanager
def running(jobs: Jobs, job_id: str, ended: Ended = _nobody, *, redact: bool = False) -> Iterator[None]:
    """Sends heartbeats for the job inside the block. Whatever ends the block early, the store records the job's state.

    Raises Interrupted if somebody asked for the end: by Ctrl-C, or from another terminal (Stopped). The block itself
    finishes a job that is done. `redact`: the recorded error holds no values of rows.
    """
    try:
        with heartbeat(jobs, job_id):
            yield
    except Stopped as stopped:
        raise _stop(jobs, job_id, _STATES[stopped.wanted], ended) from None
    except KeyboardInterrupt:
        raise _stop(jobs, job_id, JobState.INTERRUPTED, ended) from None
    except BaseException as error:  # any error: a job whose process is gone must not look like a running job
        line = without_values(_line(error)) if redact else _line(error)
        for report in (lambda: ended(JobState.FAILED, line), lambda: jobs.fail(job_id, line)):
            with suppress(TieoutError):  # the store may be what failed: the error itself says more
                report()
        raise


def _stop(jobs: Jobs, job_id: str, state: JobState, ended: Ended) -> Interrupted:
    ended(state, None)
    jobs.stop(job_id, state)
    return Interrupted(job_id, state)


def _line(error: BaseException) -> str:
    known = isinstance(error, TieoutError)
    return scrub(str(error) if known else f"{type(error).__name__}: {error}".splitlines()[0])
