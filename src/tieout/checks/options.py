"""How checks go about it."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.nearest import chosen
from tieout.model.requests import put
from tieout.model.statements import EngineChecker


@dataclass(frozen=True)
class CheckOptions:
    """`recheck_times` looks at what seems wrong, `recheck_after` seconds apart, before it is called so.

    `max_rows_per_second` are those of all tasks together, `pause` the seconds between two batches. The engine's own
    checker is given `engine_seconds` for a statement. `redact_values`: of what is wrong, keys and hashes of values are
    listed and kept, and no value.
    """

    max_rows_per_second: float | None = None
    pause: float = 0.0
    recheck_after: float = 2.0
    recheck_times: int = 3
    engine_checker: EngineChecker = EngineChecker.SAFE
    engine_seconds: float = 600.0
    redact_values: bool = False

    def __post_init__(self) -> None:
        put(self, "engine_checker", chosen(EngineChecker, self.engine_checker, "engine_checker"))
