"""Throttles a mover: limits its rows per second, and stops it while the target is busy."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass, field

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.move import Target
from tieout.connectors.registry import open_target
from tieout.model.requests import MoveOptions

_SHORT_WAIT = 1.0
"""Seconds of waiting for the next rows that are too short to report."""


@dataclass
class Throttle:
    """Reads the target's load on its own connection: the mover's connection may be in a transaction."""

    options: MoveOptions
    url: EndpointUrl
    _free_at: float = field(init=False, default=0.0)

    def moved(self, rows: int) -> None:
        """Counts `rows` as written; the next ones have to wait for their turn."""
        if self.options.max_rows_per_second is not None:
            self._free_at = max(self._free_at, time.monotonic()) + rows / self.options.max_rows_per_second

    def reason(self) -> str | None:
        """Why the mover has to wait; None if it does not."""
        wait = self._free_at - time.monotonic()
        if wait > 0:
            time.sleep(min(wait, _SHORT_WAIT))
            if wait > _SHORT_WAIT:
                return f"limited to {self.options.max_rows_per_second:,} rows per second"
        if self.options.max_load is None and self.options.max_replica_lag is None:
            return None
        with closing(open_target(self.url)) as target:
            return self._of(target)

    def _of(self, target: Target) -> str | None:
        most, lag = self.options.max_load, self.options.max_replica_lag
        if most is not None and (running := target.load()) > most:
            return f"the target runs {running} statements, and the limit is {most}"
        return None if lag is None else _lag_reason(target.replica_lag(), lag)


def _lag_reason(behind: float | None, most: float) -> str | None:
    """Why a replica's lag makes the mover wait. A missing replica counts as too far behind: the user who set a limit
    wants the replica to keep up."""
    if behind is None:
        return "no replica of the target is connected, and max_replica_lag is set"
    if math.isinf(behind):
        return "a replica of the target is catching up"
    return f"a replica of the target is {behind:.1f} s behind, and the limit is {most:g} s" if behind > most else None
