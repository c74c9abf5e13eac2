"""What other terminals want of a mover."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event

from tieout.meta import MetaStore, Wanted
from tieout.move.status import StatusKeeper
from tieout.runtime.throttle import Throttle

_LOOK_SECONDS = 0.5
_RESTING = ("paused", "throttled")


class StopAsked(Exception):
    """Another terminal wants the mover to stop."""


@dataclass(frozen=True)
class Steering:
    store: MetaStore
    job_id: str
    status: StatusKeeper
    throttle: Throttle

    def look(self) -> None:
        """StopAsked if the mover is to end."""
        if self._wanted() in (Wanted.STOP, Wanted.CANCEL):
            raise StopAsked

    def hold(self, released: Event | None = None) -> None:
        """Waits while the mover is to rest, or is held back, until it is released; StopAsked if it is to end."""
        before, released = self.status.state, released or Event()
        while (reason := self._reason()) is not None:
            if (self.status.state, self.status.message) != reason:
                self.status.become(*reason)
            if released.wait(_LOOK_SECONDS):
                return
        if self.status.state in _RESTING:
            self.status.become(before)

    def _reason(self) -> tuple[str, str | None] | None:
        wanted = self._wanted()
        if wanted in (Wanted.STOP, Wanted.CANCEL):
            raise StopAsked
        if wanted is Wanted.PAUSE:
            return "paused", None
        held_back = self.throttle.reason()
        return None if held_back is None else ("throttled", held_back)

    def _wanted(self) -> Wanted | None:
        return self.store.jobs.wanted(self.job_id)
