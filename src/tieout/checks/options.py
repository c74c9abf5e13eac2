"""Options of a check."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.check_statements import EngineChecker
from tieout.model.defaults import RECHECK_AFTER, RECHECK_TIMES
from tieout.model.nearest import chosen
from tieout.model.requests import put


@dataclass(frozen=True)
class CheckOptions:
    """`recheck_times` rechecks of what seems wrong, `recheck_after` seconds apart, before it is a failure.

    `max_rows_per_second` is the limit of all tasks together, `pause` the seconds between two batches. `engine_checker`
    None: nobody asked for the engine's own checker; it runs as with SAFE, and a server without one leaves no gap.
    `engine_seconds` limits each of its statements. `redact_values`: reports and the store hold keys and hashes of
    values, but no values.
    """

    max_rows_per_second: float | None = None
    pause: float = 0.0
    recheck_after: float = RECHECK_AFTER
    recheck_times: int = RECHECK_TIMES
    engine_checker: EngineChecker | None = None
    engine_seconds: float = 600.0
    redact_values: bool = False

    def __post_init__(self) -> None:
        if self.engine_checker is not None:
            put(self, "engine_checker", chosen(EngineChecker, self.engine_checker, "engine_checker"))
