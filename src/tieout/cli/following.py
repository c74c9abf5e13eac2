"""Rounds of CHECK … CHANGED, as they are told; and the end of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tieout.cli.output import result_stream, say
from tieout.cli.place import Place
from tieout.cli.telling import Telling
from tieout.config.secrets import scrub
from tieout.exit_codes import ExitCode
from tieout.report.printable import printable
from tieout.report.render import OutputFormat
from tieout.wording import duration, plural

if TYPE_CHECKING:
    from tieout.model.failures import CheckReport, Failure


class Rounds:
    """Only rounds with news are told whole. `write` writes a report."""

    def __init__(self, telling: Telling, write: Callable[[CheckReport, OutputFormat], ExitCode]) -> None:
        self._telling = telling
        self._write = write
        self._last: CheckReport | None = None
        self._left_out = False

    def tell(self, report: CheckReport) -> None:
        before = () if self._last is None else _found(self._last)
        self._last = report
        self._left_out = self._left_out or report.exit_code is ExitCode.INCOMPLETE
        if _found(report) != before or (report.exit_code and not before):
            self._write(report, self._telling.output)
        if not self._telling.quiet:
            say(scrub(_line(report)))

    @property
    def exit_code(self) -> ExitCode:
        """The last round's: failures stay until they are gone. What a round left out, no later one has checked."""
        if self._last is None:
            return ExitCode.INTERRUPTED
        return self._last.exit_code or ExitCode.of_work(incomplete=self._left_out)


def _found(report: CheckReport) -> tuple[Failure, ...]:
    """What was found, whenever it was: a failure that is still there is no news."""
    return tuple(replace(failure, detected_at=None) for failure in report.failures)


@contextmanager
def told_of_the_end() -> Iterator[None]:
    """Somebody ends it, here or from another terminal: there is no other end."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        job = getattr(stopped, "job", None)
        say(
            f"job {job} has ended: start it again, and it goes on behind the last whole round" if job else "interrupted"
        )


def forget_changes(here: Place, url: str) -> ExitCode:
    from tieout import api

    tables = api.forget_checked(url, meta=here.meta)
    with result_stream() as stream:
        followed = ", ".join(printable(table) for table in tables)
        stream.write(f"forgotten: {followed}\n" if tables else "nothing of it was followed\n")
    return ExitCode.OK


def _line(report: CheckReport) -> str:
    """What a round was about, for those who wait."""
    ends = ", ".join(sorted({span.upto for span in report.changed}))
    changes = sum(span.changes for span in report.changed)
    return f"{report.verdict}: {plural(changes, 'change')} up to {ends}, {duration(report.seconds)}"
