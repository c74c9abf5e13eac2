"""The checks of one family of one table, as a part of a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing(state: bytes, rows: int, total: int | None) -> None: ...


@dataclass(frozen=True)
class Unit:
    """`kept` is what was done of it before the job was stopped. `keep` keeps what is done by now, and tells of it: so
    many rows, of how many. `rest` waits so many seconds, or raises to end it all.
    """

    rest: Callable[[float], None]
    kept: bytes | None = None
    keep: Callable[[bytes, int, int | None], None] = _nothing
