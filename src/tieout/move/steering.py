"""What other terminals want of a mover."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tieout.meta import MetaStore, Wanted
from tieout.model.positions import Position
from tieout.move.status import StatusKeeper

_LOOK_SECONDS = 0.5


class StopAsked(Exception):
    """Another terminal wants the mover to stop."""


@dataclass(frozen=True)
class Steering:
    store: MetaStore
    job_id: str
    status: StatusKeeper

    def is_stopped(self, applied: Position) -> bool:
        """Never true: raises StopAsked instead."""
        if self._wanted() in (Wanted.STOP, Wanted.CANCEL):
            raise StopAsked
        return False

    def hold(self) -> None:
        """Waits while the mover is to rest; StopAsked if it is to end."""
        before = self.status.state
        while (wanted := self._wanted()) is Wanted.PAUSE:
            if self.status.state != "paused":
                self.status.become("paused")
            time.sleep(_LOOK_SECONDS)
        if wanted in (Wanted.STOP, Wanted.CANCEL):
            raise StopAsked
        if self.status.state == "paused":
            self.status.become(before)

    def _wanted(self) -> Wanted | None:
        return self.store.jobs.wanted(self.job_id)
