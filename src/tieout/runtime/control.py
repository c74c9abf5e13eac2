"""Job control: pause, resume and stop a running job from another terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from tieout.meta.jobs import Jobs
from tieout.meta.records import Wanted

POLL_SECONDS = 0.2
"""Seconds between two polls of anything that Tieout waits for: the store, a server's load, a process."""

_ENDS = (Wanted.STOP, Wanted.CANCEL)


class Stopped(Exception):
    """Another terminal asked this job to pause or to stop."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted)
        self.wanted = wanted


@dataclass(frozen=True)
class JobControl:
    """For a job that ends when somebody pauses it, and that --resume continues."""

    jobs: Jobs
    job_id: str

    def check(self) -> None:
        """Raises Stopped if another terminal asked for anything."""
        wanted = self.jobs.wanted(self.job_id)
        if wanted is not None:
            raise Stopped(wanted)

    def wait(self, seconds: float) -> None:
        """Waits `seconds`, and checks all the while, at least once."""
        until = time.monotonic() + seconds
        while True:
            self.check()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, POLL_SECONDS))


@dataclass(frozen=True)
class HoldingControl:
    """For a job that keeps its process while it is paused or throttled, and then goes on.

    `throttled` returns the reason to wait, if there is one. `state` returns what the job is doing now. Each change of
    the state calls `show` with the state and its reason.
    """

    jobs: Jobs
    job_id: str
    throttled: Callable[[], str | None]
    state: Callable[[], str]
    show: Callable[[str, str | None], None]

    def check(self) -> None:
        """Raises Stopped if the job is to end."""
        self._wanted()

    def hold(self, released: Event | None = None) -> None:
        """Waits while the job is paused or throttled, or until `released` is set. Raises Stopped if it is to end."""
        before, shown, released = self.state(), None, released or Event()
        while (reason := self._reason()) is not None:
            if reason != shown:
                self.show(*reason)
                shown = reason
            if released.wait(POLL_SECONDS):
                break
        if shown is not None:
            self.show(before, None)

    def wait(self, seconds: float) -> None:
        """Waits at least `seconds`, and longer while the job is paused or throttled."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.hold()
            time.sleep(min(left, POLL_SECONDS))

    def _reason(self) -> tuple[str, str | None] | None:
        if self._wanted() is Wanted.PAUSE:
            return "paused", None
        throttled = self.throttled()
        return None if throttled is None else ("throttled", throttled)

    def _wanted(self) -> Wanted | None:
        wanted = self.jobs.wanted(self.job_id)
        if wanted in _ENDS:
            raise Stopped(Wanted.STOP)
        return wanted
