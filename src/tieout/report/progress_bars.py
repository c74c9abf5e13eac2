"""Progress as bars, for a terminal: one for each table that is being worked on, gone when it is done."""

from __future__ import annotations

from threading import Lock
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from tieout.model.progress import Progress
from tieout.report.printable import one_line, printable
from tieout.wording import plural


class TerminalProgress:
    """A listener that draws on `console` between `with` and its end, and leaves nothing behind."""

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
            # The report goes to stdout while bars may still be drawn; it is not theirs to capture.
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
                # A bar that goes on in another stage would carry the old stage's rate and time left.
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
    """The stage and the table; the one that gives way where the terminal is narrow."""

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
