"""Progress as lines, for logs: seldom, and each readable by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TextIO

from tieout.model.progress import Progress
from tieout.report.printable import one_line, printable
from tieout.wording import duration, plural

_SHORTEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class _Start:
    """When a table entered its stage, and with how many rows done."""

    stage: str
    at: float
    rows: int


class LineProgress:
    """Writes a line every `interval` seconds and when a table enters a stage, at most one a second.

    It can't fail: a stream that is gone is not a reason to stop the work.
    """

    def __init__(self, stream: TextIO, interval: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._interval = interval
        self._clock = clock
        self._lock = Lock()
        self._starts: dict[str | None, _Start] = {}
        self._last_line = float("-inf")

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            now = self._clock()
            start = self._starts.get(progress.table)
            pause = self._interval
            if start is None or start.stage != progress.stage:
                start = self._starts[progress.table] = _Start(progress.stage, now, progress.rows_done)
                pause = _SHORTEST_PAUSE
            # A thousand small tables enter four stages each: without a pause that would be the whole log.
            if now - self._last_line >= pause:
                self._last_line = now
                self._write(progress_line(progress, progress.rows_done - start.rows, now - start.at))

    def _write(self, line: str) -> None:
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except (OSError, ValueError):
            pass


def progress_line(progress: Progress, rows: int, seconds: float) -> str:
    """`digests shop.orders: 1,200 of 2,000 rows (60%), 410 rows/s, 2.0 s left`; `rows` took `seconds`."""
    stage = printable(progress.stage)
    return ", ".join(
        part
        for part in (
            f"{stage} {printable(progress.table)}{_rows(progress)}" if progress.table else f"{stage}{_rows(progress)}",
            *_pace(progress, rows, seconds),
            plural(progress.differences, "difference") if progress.differences else "",
            one_line(progress.message) if progress.message else "",
        )
        if part
    )


def _rows(progress: Progress) -> str:
    if not progress.rows_total:
        return f": {plural(progress.rows_done, 'row')}" if progress.rows_done else ""
    # A total is an estimate of the engine's more often than not, so it can be passed.
    share = min(1.0, progress.rows_done / progress.rows_total)
    return f": {progress.rows_done:,} of {plural(progress.rows_total, 'row')} ({share:.0%})"


def _pace(progress: Progress, rows: int, seconds: float) -> list[str]:
    if rows <= 0 or seconds < _SHORTEST_PAUSE:
        return []
    pace = [f"{rows / seconds:,.0f} rows/s"]
    left = (progress.rows_total or 0) - progress.rows_done
    return [*pace, f"{duration(left * seconds / rows)} left"] if left > 0 else pace
