"""tieout check"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import Place, place
from tieout.cli._support.interrupts import told_how_to_go_on
from tieout.cli._support.job_urls import job_url
from tieout.cli._support.output import Telling, progress_to_stderr, result_stream, say
from tieout.config.durations import parse_duration, seconds_text
from tieout.config.secrets import scrub
from tieout.errors import TieoutError, UsageError
from tieout.exit_codes import ExitCode
from tieout.model.check_statements import EngineChecker
from tieout.model.defaults import FOLLOW_EVERY, LISTED_DIFFERENCES
from tieout.report.printable import error_line, printable
from tieout.report.render import OutputFormat
from tieout.wording import duration, plural

if TYPE_CHECKING:
    from tieout.api import SparkSettings
    from tieout.model.failures import CheckReport, Failure

Url = Annotated[
    str | None, typer.Argument(metavar="URL", help="The database: a URL or an endpoint's name.", show_default=False)
]
StatementText = Annotated[
    str | None,
    typer.Argument(
        metavar="[STATEMENT]", help='What to check: "CHECK TABLE orders". Without one, a prompt.', show_default=False
    ),
]
File = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="A file of statements, each with a semicolon.")
]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=0, help="The most failures to list; counts stay exact.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Go on with what is changed, round after round: of CHECK … CHANGED.")
]
Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        metavar="TIME",
        parser=parse_duration,
        help=f"How long --follow rests between two rounds ({seconds_text(FOLLOW_EVERY)}s unless given).",
    ),
]
Forget = Annotated[
    bool,
    typer.Option("--forget", help="Drop what CHANGED keeps at the database (slots, triggers) and what it knows of it."),
]
MaxRowsPerSecond = Annotated[int | None, common.max_rows_per_second("all in all")]
Pause = Annotated[
    float | None, common.time_option("--pause", "How long to rest between two batches (not at all unless given).")
]
RecheckAfter = Annotated[float | None, common.recheck_after("what seems wrong")]
RecheckTimes = Annotated[int | None, common.recheck_times(1, ", until two or three looks agree")]
EngineCheckerOption = Annotated[
    EngineChecker | None,
    common.option(
        "--engine-checker",
        "The engine's own checker: safe (unless given), where it only reads; extended, also where it marks what it"
        " finds as corrupted; none.",
        show_default=False,
    ),
]
RedactValues = Annotated[bool | None, common.redact_values()]
Resume = Annotated[str | None, common.resume("a check")]


_GO_ON = "tieout jobs resume JOB"


def check(
    url: Url = None,
    statement: StatementText = None,
    file: File = None,
    follow: Follow = False,
    every: Every = None,
    forget: Forget = False,
    limit: Limit = LISTED_DIFFERENCES,
    max_rows_per_second: MaxRowsPerSecond = None,
    pause: Pause = None,
    recheck_after: RecheckAfter = None,
    recheck_times: RecheckTimes = None,
    engine_checker: EngineCheckerOption = None,
    redact_values: RedactValues = None,
    resume: Resume = None,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Checks that a database agrees with itself: its indexes, its constraints, its schema, its values."""
    telling = Telling(output, quiet, verbose)
    here = place(config, meta, master)
    given = {
        "max_rows_per_second": max_rows_per_second,
        "pause": pause,
        "recheck_after": recheck_after,
        "recheck_times": recheck_times,
        "engine_checker": engine_checker,
        "redact_values": redact_values,
    }
    options = {name: value for name, value in given.items() if value is not None}
    if resume is not None:
        if statement is not None or file is not None or options:
            raise UsageError("a resumed check does what it was asked to", "give the URL alone")
        return resume_check(here, resume, url, telling)
    if url is None:
        raise UsageError("there is no database to check", 'such as tieout check URL "CHECK DATABASE shop"')
    if statement is not None and file is not None:
        raise UsageError("a statement and a file of them are given", "give one of the two")
    if forget:
        if statement is not None or file is not None:
            raise UsageError("--forget takes no statement", "it is about all tables that CHANGED follows there")
        return forget_changes(here, here.settings.endpoint(url))
    options = {"limit": limit, "redact_values": here.settings.redact_values, **options}
    session = _Session(here, here.settings.endpoint(url), options, telling)
    if follow:
        return session.follow(_statements(statement, file), every)
    if statement is None and file is None and sys.stdin is not None and sys.stdin.isatty():
        return _prompt(session)
    codes = [session.run(each) for each in _statements(statement, file)]
    return ExitCode.worst(codes)


def resume_check(here: Place, reference: str, url: str | None, telling: Telling) -> ExitCode:
    """Goes on with a check, and tells what came of it."""
    from tieout import api

    job = api.resumable_check(reference, here.meta)
    place = job_url(here, job, "URL", url)
    with told_how_to_go_on(_GO_ON), progress_to_stderr(telling) as listener:
        spark = here.spark(telling.verbose, redacts=bool(job.request.get("redact_values")))
        report = api.resume_check(job.id, place, spark=spark, meta=here.meta, listener=listener)
    return _told(report, telling.output)


class _Session:
    """Statements on one database, one after another, on one Spark."""

    def __init__(self, here: Place, url: str, options: Mapping[str, Any], telling: Telling) -> None:
        self._here = here
        self._url = url
        self._options = options
        self._telling = telling

    def run(self, statement: str) -> ExitCode:
        from tieout import api

        if api.parse_check(statement).detached:
            return self._detach(statement)
        with told_how_to_go_on(_GO_ON), progress_to_stderr(self._telling) as listener:
            spark = self._spark()
            report = api.check(
                self._url, statement, spark=spark, meta=self._here.meta, listener=listener, **self._options
            )
        return _told(report, self._telling.output)

    def _spark(self) -> SparkSettings:
        return self._here.spark(self._telling.verbose, redacts=bool(self._options.get("redact_values")))

    def follow(self, statements: list[str], every: float | None) -> ExitCode:
        from tieout import api

        if len(statements) > 1:
            raise UsageError("there are several statements to follow", "follow one: it may name several tables")
        spark = self._spark()
        rounds = Rounds(self._telling, _told)
        options = self._options if every is None else {**self._options, "every": every}
        with told_of_the_end():
            api.follow_checks(self._url, statements[0], rounds.tell, spark=spark, meta=self._here.meta, **options)
        return rounds.exit_code

    def _detach(self, statement: str) -> ExitCode:
        from tieout.cli._support.detached import start_detached

        job = start_detached(self._here, self._url, statement, self._options)
        with result_stream() as stream:
            if self._telling.output is OutputFormat.JSON:
                stream.write(f'{{"kind": "job", "job": "{job}"}}\n')
            else:
                stream.write(f"job {job} goes on by itself: see tieout jobs show {job}\n")
        return ExitCode.OK


def _told(report: CheckReport, output: OutputFormat) -> ExitCode:
    from tieout.report.check import write

    with result_stream() as stream:
        write(report, output, stream)
    return report.exit_code


def _statements(statement: str | None, file: Path | None) -> list[str]:
    from tieout import api

    if statement is not None:
        text = statement
    elif file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} can't be read: {getattr(error, 'strerror', None) or error}") from None
    else:
        text = sys.stdin.read() if sys.stdin is not None else ""
    found = api.split_checks(text)
    if not found:
        raise UsageError("there is no statement", 'such as "CHECK DATABASE shop"')
    for each in found:
        api.parse_check(each)  # all of them, before the first one is begun
    return found


def _prompt(session: _Session) -> ExitCode:
    """Until the end of input. An error ends a statement, not the prompt; the exit code is the last statement's."""
    code = ExitCode.OK
    for text in _typed():
        try:
            for each in _statements(text, None):
                code = session.run(each)
        except TieoutError as error:
            say(scrub(error_line(error)))
            code = ExitCode.of_error(error)
    return code


def _typed() -> Iterator[str]:
    """What was typed up to each semicolon, or up to the end of input."""
    import readline  # noqa: F401 - lines can be edited, and come again

    kept = ""
    while True:
        try:
            line = input("... " if kept else "check> ")
        except EOFError:
            say("")
            if kept:
                yield kept
            return
        if line.strip().lower() in ("exit", "quit", "\\q"):
            if kept:
                say("what was typed without a semicolon was not run")
            return
        kept = f"{kept}\n{line}" if kept else line
        if kept.rstrip().endswith(";"):
            yield kept
            kept = ""
        elif not kept.strip():
            kept = ""


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
