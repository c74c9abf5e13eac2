"""Progress on stderr while work runs.

On a terminal: a bar for each table in work, removed when the table is done. In logs: a line now and then, each readable
by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from tieout.model.progress_events import Listener, Progress, silence
from tieout.report.listing import console_on
from tieout.report.printable import one_line, printable
from tieout.wording import duration, plural


class TerminalProgress:
    """A listener that draws bars on `console` inside its `with` block and removes them at the end."""

    def __init__(self, console: Console) -> None:
        self._bars = RichProgress(
            NameColumn(),
            BarColumn(bar_width=16, table_column=Column(no_wrap=True)),
            RowsColumn(table_column=Column(no_wrap=True, justify="right")),
            RateColumn(table_column=Column(no_wrap=True, justify="right")),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[remark]}", style="yellow", markup=False),
            console=console,
            transient=True,
            refresh_per_second=4,
            # The report goes to stdout while bars may still be drawn: they must not capture it.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._lock = Lock()
        self._drawn: dict[str | None, tuple[str, TaskID]] = {}

    def __enter__(self) -> TerminalProgress:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            stage, bar = self._drawn.get(progress.table, (None, None))
            if bar is not None and stage != progress.stage:
                # A bar that continued in another stage would show the old stage's rate and time left.
                self._bars.remove_task(bar)
                del self._drawn[progress.table]
                bar = None
            if progress.stage == "done":
                return
            if bar is None:
                bar = self._bars.add_task(_description(progress), total=None, remark="")
                self._drawn[progress.table] = progress.stage, bar
            self._bars.update(bar, total=progress.rows_total, completed=progress.rows_done, remark=_remark(progress))


class NameColumn(ProgressColumn):
    """The stage and the table. This column shrinks where the terminal is narrow."""

    def render(self, task: Task) -> Text:
        return Text(task.description, no_wrap=True, overflow="ellipsis")


class RowsColumn(ProgressColumn):
    """`1,200 / 2,000 rows`, or `1,200 rows` while the total is not known."""

    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f" / {int(task.total):,}"
        return Text(f"{int(task.completed):,}{total} rows", no_wrap=True)


class RateColumn(ProgressColumn):
    """`410,000 rows/s`, of the last half minute."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f} rows/s" if task.speed else "", no_wrap=True)


def _description(progress: Progress) -> str:
    return printable(f"{progress.stage:<7} {progress.table or ''}").rstrip()


def _remark(progress: Progress) -> str:
    parts = [
        plural(progress.differences, "difference") if progress.differences else "",
        one_line(progress.message) if progress.message else "",
    ]
    return ", ".join(part for part in parts if part)


_SHORTEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class _Start:
    """When a table entered its stage, and with how many rows done."""

    stage: str
    at: float
    rows: int


class LineProgress:
    """Writes a line every `interval` seconds and when a table enters a stage, at most one a second.

    It never fails: a closed stream is not a reason to stop the work.
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
    # A total is usually the engine's estimate, so the count can exceed it.
    share = min(1.0, progress.rows_done / progress.rows_total)
    return f": {progress.rows_done:,} of {plural(progress.rows_total, 'row')} ({share:.0%})"


def _pace(progress: Progress, rows: int, seconds: float) -> list[str]:
    if rows <= 0 or seconds < _SHORTEST_PAUSE:
        return []
    pace = [f"{rows / seconds:,.0f} rows/s"]
    left = (progress.rows_total or 0) - progress.rows_done
    return [*pace, f"{duration(left * seconds / rows)} left"] if left > 0 else pace


__all__ = ["LineProgress", "TerminalProgress", "progress_listener"]


@contextmanager
def progress_listener(stream: TextIO, quiet: bool = False) -> Iterator[Listener]:
    """The listener that suits the stream; it may be called from any thread, until the context ends."""
    if quiet:
        yield silence
        return
    console = console_on(stream)
    if console.is_terminal and not console.is_dumb_terminal:
        with TerminalProgress(console) as bars:
            yield bars
    else:
        yield LineProgress(stream)
