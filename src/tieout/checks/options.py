"""How checks go about it."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.check_statements import EngineChecker
from tieout.model.defaults import RECHECK_AFTER, RECHECK_TIMES
from tieout.model.nearest import chosen
from tieout.model.requests import put


@dataclass(frozen=True)
class CheckOptions:
    """`recheck_times` looks at what seems wrong, `recheck_after` seconds apart, before it is called so.

    `max_rows_per_second` are those of all tasks together, `pause` the seconds between two batches. `engine_checker` is
    one of EngineChecker. None: nobody asked; it is run as if SAFE were given, and a server that does not have it leaves
    no gap. The engine's own checker is given `engine_seconds` for a statement. `redact_values`: of what is wrong, keys
    and hashes of values are listed and kept, and no value.
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
