"""How a mover retries when it loses a server: how long it waits, and how often."""

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
    """Retries one part of a move, with longer and longer pauses, as long as it makes progress in between.

    A server that restarts has some minutes for it.
    """

    target: Target
    status: StatusKeeper
    control: HoldingControl
    show: Callable[[StatusKeeper], None]
    _failures: int = field(init=False, default=0)
    _progress: object = field(init=False, default=None)

    def reached(self, progress: object) -> None:
        """Starts counting failures again if this is other progress than before."""
        if progress != self._progress:
            self._progress, self._failures = progress, 0

    def wait(self, error: TieoutError) -> None:
        """Returns when the target is reachable again. Raises the error if a retry can't help, or never did.

        Stopped if the mover has to end: it does not wait for a server that is gone.
        """
        before = self.status.state
        while True:
            if not error.transient or self._failures >= _TRIES:
                raise error
            self.status.become("waiting", str(error))
            self.show(self.status)
            self.control.wait(min(_LONGEST_WAIT, _FIRST_WAIT * 2**self._failures))
            self._failures += 1
            try:
                self.target.reconnect()
            except TieoutError as again:
                error = again
                continue
            self.status.become(before)
            return
