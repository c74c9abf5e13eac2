"""How checks go about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckOptions:
    """`recheck_times` looks at what seems wrong, `recheck_after` seconds apart, before it is called so.

    `max_rows_per_second` are those of all tasks together, `pause` the seconds between two batches.
    """

    max_rows_per_second: float | None = None
    pause: float = 0.0
    recheck_after: float = 2.0
    recheck_times: int = 3
