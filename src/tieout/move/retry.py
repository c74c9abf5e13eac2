"""Tries again what may succeed later, with longer and longer pauses, as long as it gets further in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tieout.connectors.protocols.move import Target
from tieout.errors import TieoutError
from tieout.move.status import StatusKeeper
from tieout.runtime.control import HoldingControl

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_TRIES = 10


@dataclass
class Retry:
    """For one part of a move. A server that restarts has some minutes for it."""

    target: Target
    status: StatusKeeper
    control: HoldingControl
    tell: Callable[[StatusKeeper], None]
    _failures: int = field(init=False, default=0)
    _place: object = field(init=False, default=None)

    def reached(self, place: object) -> None:
        """Failures count anew once another place is reached."""
        if place != self._place:
            self._place, self._failures = place, 0

    def wait(self, error: TieoutError) -> None:
        """Returns when the target can be spoken to again. Raises the error if another try can't help, or never did.

        Stopped if the mover is to end: nobody waits for a server that is gone.
        """
        before = self.status.state
        while True:
            if not error.transient or self._failures >= _TRIES:
                raise error
            self.status.become("waiting", str(error))
            self.tell(self.status)
            self.control.wait(min(_LONGEST_WAIT, _FIRST_WAIT * 2**self._failures))
            self._failures += 1
            try:
                self.target.reconnect()
            except TieoutError as again:
                error = again
                continue
            self.status.become(before)
            return
