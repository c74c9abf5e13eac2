"""The progress of running work, for listeners: the terminal, the log, a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`stage` is schema, counts, digests, rows or done. `rows_total` None: unknown (yet)."""

    stage: str
    table: str | None = None
    rows_done: int = 0
    rows_total: int | None = None
    message: str | None = None
    differences: int = 0


Listener = Callable[[Progress], None]


def silence(progress: Progress) -> None:
    """The listener that does nothing."""
