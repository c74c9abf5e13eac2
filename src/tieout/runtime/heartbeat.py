"""Tells the meta store, now and then, that a job's process is alive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from tieout.errors import MetaStoreError
from tieout.meta import HEARTBEAT_SECONDS
from tieout.meta.jobs import Jobs


@contextmanager
def heartbeat(jobs: Jobs, job_id: str) -> Iterator[None]:
    """Beats until the block ends. A store that can't be written is noticed where results are kept, not here."""
    done = Event()

    def beat() -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            try:
                jobs.heartbeat(job_id)
            except MetaStoreError:
                continue

    thread = Thread(target=beat, name="tieout-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
