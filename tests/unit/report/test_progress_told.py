"""Progress: seldom in a log, in place on a terminal, never on the way of the work."""

from __future__ import annotations

from io import StringIO

import pytest

from tieout.model.progress_events import Progress, silence
from tieout.report.listing import console_on
from tieout.report.progress import LineProgress, TerminalProgress, progress_listener


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Gone(StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_lines_come_every_interval_and_at_stage_changes() -> None:
    stream, clock = StringIO(), Clock()
    listener = LineProgress(stream, interval=10, clock=clock)
    for now, progress in [
        (0.0, Progress("schema")),
        (5.0, Progress("digests", "shop.orders", 0, 2_000_000)),
        (9.0, Progress("digests", "shop.orders", 400_000, 2_000_000)),
        (15.0, Progress("digests", "shop.orders", 1_000_000, 2_000_000)),
        (20.0, Progress("rows", "shop.orders", 12, differences=3)),
        (20.5, Progress("digests", "shop.small", 0, 5)),
        (40.0, Progress("rows", "shop.orders", 20_012, differences=1, message="checking suspects again")),
        (50.0, Progress("done", "shop.orders")),
    ]:
        clock.now = now
        listener(progress)
    assert stream.getvalue().splitlines() == [
        "schema",
        "digests shop.orders: 0 of 2,000,000 rows (0%)",
        "digests shop.orders: 1,000,000 of 2,000,000 rows (50%), 100,000 rows/s, 10.0 s left",
        "rows shop.orders: 12 rows, 3 differences",
        "rows shop.orders: 20,012 rows, 1,000 rows/s, 1 difference, checking suspects again",
        "done shop.orders",
    ]


def test_an_estimate_that_was_too_low_is_not_more_than_all() -> None:
    stream = StringIO()
    LineProgress(stream)(Progress("counts", "t", 120, 100))
    assert stream.getvalue() == "counts t: 120 of 100 rows (100%)\n"


def test_names_and_messages_drive_no_terminal() -> None:
    stream = StringIO()
    LineProgress(stream)(Progress("rows", "\x1b[2J", message="two\nlines \x07"))
    assert stream.getvalue() == "rows \\x1b[2J, two lines \\x07\n"


def test_a_stream_that_is_gone_does_not_stop_the_work() -> None:
    LineProgress(Gone())(Progress("schema"))


def test_a_log_gets_lines_and_quiet_gets_nothing() -> None:
    stream = StringIO()
    with progress_listener(stream) as listener:
        assert isinstance(listener, LineProgress)
    with progress_listener(Terminal(), quiet=True) as listener:
        assert listener is silence


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with progress_listener(Terminal()) as listener:
        assert isinstance(listener, LineProgress)


def test_a_terminal_gets_a_bar_for_each_table_and_nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with progress_listener(stream) as listener:
        assert isinstance(listener, TerminalProgress)
        listener(Progress("digests", "shop.[red]orders", 500, 2000, differences=2))
        listener(Progress("counts", "shop.customers", 7))
        listener._bars.refresh()
        drawn = stream.getvalue()
        listener(Progress("done", "shop.customers"))
        assert len(listener._bars.tasks) == 1
        listener(Progress("rows", "shop.[red]orders", 1))
        assert [task.description for task in listener._bars.tasks] == ["rows    shop.[red]orders"]
    assert "digests shop.[red]orders" in drawn
    assert "500 / 2,000 rows" in drawn
    assert "2 differences" in drawn
    assert "7 rows" in drawn
    assert "\x1b[3" not in drawn.replace("\x1b[39", "")  # no colours
    assert stream.getvalue().endswith("\x1b[2K")  # the last thing is to wipe the line


def test_a_narrow_terminal_shortens_the_name_and_not_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with TerminalProgress(console_on(stream)) as bars:
        bars(Progress("digests", "a_schema.with_a_table_of_a_long_name", 1_500_000, 2_000_000, differences=12))
        bars._bars.refresh()
    assert "1,500,000 / 2,000,000 rows" in stream.getvalue()
    assert "digests a_schema" in stream.getvalue()
    assert "12 differences" in stream.getvalue()


def test_bars_stop_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    bars = TerminalProgress(console_on(Terminal()))
    with pytest.raises(ZeroDivisionError), bars:
        raise ZeroDivisionError
    assert bars._bars.live.is_started is False
