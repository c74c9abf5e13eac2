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
from tieout.cli._support.context import Context, job_url, load_context
from tieout.cli._support.interrupts import interruptible
from tieout.cli._support.output import OutputOptions, progress_to_stderr, result_stream, write_stderr
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
        metavar="[STATEMENT]",
        help='What to check: "CHECK TABLE orders". Without it, a prompt asks.',
        show_default=False,
    ),
]
File = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="A file of statements, each ended by a semicolon.")
]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=0, help="List at most this many failures; counts stay exact.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Keep checking what changes, round after round; for CHECK … CHANGED.")
]
Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        metavar="TIME",
        parser=parse_duration,
        help=f"How long --follow waits between two rounds (default: {seconds_text(FOLLOW_EVERY)}s).",
    ),
]
Forget = Annotated[
    bool,
    typer.Option("--forget", help="Drop what CHANGED keeps in the database (slots, triggers) and in the meta store."),
]
MaxRowsPerSecond = Annotated[int | None, common.max_rows_per_second("in total")]
Pause = Annotated[
    float | None, common.time_option("--pause", "How long to wait between two batches (default: not at all).")
]
RecheckAfter = Annotated[float | None, common.recheck_after("a possible failure")]
RecheckTimes = Annotated[int | None, common.recheck_times(1, ", until two or three reads agree")]
EngineCheckerOption = Annotated[
    EngineChecker | None,
    common.option(
        "--engine-checker",
        "The engine's own checker: safe (the default), where it only reads; extended, also where it marks what it"
        " finds as corrupted; none.",
        show_default=False,
    ),
]
RedactValues = Annotated[bool | None, common.redact_values()]
Resume = Annotated[str | None, common.resume("a check")]


_RESUME_COMMAND = "tieout jobs resume JOB"


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
    """Check that a database is consistent: its indexes, constraints, schema and values."""
    output_options = OutputOptions(output, quiet, verbose)
    context = load_context(config, meta, master)
    typed = {
        "max_rows_per_second": max_rows_per_second,
        "pause": pause,
        "recheck_after": recheck_after,
        "recheck_times": recheck_times,
        "engine_checker": engine_checker,
        "redact_values": redact_values,
    }
    options = {name: value for name, value in typed.items() if value is not None}
    if resume is not None:
        if statement is not None or file is not None or options:
            raise UsageError("--resume can't be combined with a statement or with options", "give only the URL")
        return resume_check(context, resume, url, output_options)
    if url is None:
        raise UsageError("no database given", 'write tieout check URL "CHECK DATABASE shop"')
    if statement is not None and file is not None:
        raise UsageError("STATEMENT and --file are mutually exclusive", "give one of them")
    if forget:
        if statement is not None or file is not None:
            raise UsageError(
                "--forget takes no statement", "it forgets every table that CHANGED follows in this database"
            )
        return forget_changes(context, context.settings.endpoint(url))
    options = {"limit": limit, "redact_values": context.settings.redact_values, **options}
    session = _Session(context, context.settings.endpoint(url), options, output_options)
    if follow:
        return session.follow(_statements(statement, file), every)
    if statement is None and file is None and sys.stdin is not None and sys.stdin.isatty():
        return _prompt(session)
    codes = [session.run(each) for each in _statements(statement, file)]
    return ExitCode.worst(codes)


def resume_check(context: Context, reference: str, url: str | None, output_options: OutputOptions) -> ExitCode:
    """Resumes a check and writes its report."""
    from tieout import api

    job = api.resumable_check(reference, context.meta)
    place = job_url(context, job, "URL", url)
    with interruptible(_RESUME_COMMAND), progress_to_stderr(output_options) as listener:
        spark = context.spark(output_options.verbose, redacts=bool(job.request.get("redact_values")))
        report = api.resume_check(job.id, place, spark=spark, meta=context.meta, listener=listener)
    return _write_report(report, output_options.output)


class _Session:
    """Statements on one database, one after another, in one Spark session."""

    def __init__(self, context: Context, url: str, options: Mapping[str, Any], output_options: OutputOptions) -> None:
        self._context = context
        self._url = url
        self._options = options
        self._output_options = output_options

    def run(self, statement: str) -> ExitCode:
        from tieout import api

        if api.parse_check(statement).detached:
            return self._detach(statement)
        with interruptible(_RESUME_COMMAND), progress_to_stderr(self._output_options) as listener:
            spark = self._spark()
            report = api.check(
                self._url, statement, spark=spark, meta=self._context.meta, listener=listener, **self._options
            )
        return _write_report(report, self._output_options.output)

    def _spark(self) -> SparkSettings:
        return self._context.spark(self._output_options.verbose, redacts=bool(self._options.get("redact_values")))

    def follow(self, statements: list[str], every: float | None) -> ExitCode:
        from tieout import api

        if len(statements) > 1:
            raise UsageError("--follow takes one statement", "one statement may name several tables")
        spark = self._spark()
        rounds = Rounds(self._output_options, _write_report)
        options = self._options if every is None else {**self._options, "every": every}
        with reported_end():
            api.follow_checks(self._url, statements[0], rounds.add, spark=spark, meta=self._context.meta, **options)
        return rounds.exit_code

    def _detach(self, statement: str) -> ExitCode:
        from tieout.cli._support.detached import start_detached

        job = start_detached(self._context, self._url, statement, self._options)
        with result_stream() as stream:
            if self._output_options.output is OutputFormat.JSON:
                stream.write(f'{{"kind": "job", "job": "{job}"}}\n')
            else:
                stream.write(f"job {job} runs in the background: see tieout jobs show {job}\n")
        return ExitCode.OK


def _write_report(report: CheckReport, output: OutputFormat) -> ExitCode:
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
            raise UsageError(f"can't read {file}: {getattr(error, 'strerror', None) or error}") from None
    else:
        text = sys.stdin.read() if sys.stdin is not None else ""
    found = api.split_checks(text)
    if not found:
        raise UsageError("no statement given", 'write one, such as "CHECK DATABASE shop"')
    for each in found:
        api.parse_check(each)  # a mistake in the last one is reported before the first one runs
    return found


def _prompt(session: _Session) -> ExitCode:
    """Reads statements until the end of input. An error ends a statement, not the prompt; the last exit code counts."""
    code = ExitCode.OK
    for text in _typed_statements():
        try:
            for each in _statements(text, None):
                code = session.run(each)
        except TieoutError as error:
            write_stderr(scrub(error_line(error)))
            code = ExitCode.of_error(error)
    return code


def _typed_statements() -> Iterator[str]:
    """Yields what the user types up to each semicolon, or up to the end of input."""
    import readline  # noqa: F401 - line editing and history

    typed = ""
    while True:
        try:
            line = input("... " if typed else "check> ")
        except EOFError:
            write_stderr("")
            if typed:
                yield typed
            return
        if line.strip().lower() in ("exit", "quit", "\\q"):
            if typed:
                write_stderr("the last statement had no semicolon and was not run")
            return
        typed = f"{typed}\n{line}" if typed else line
        if typed.rstrip().endswith(";"):
            yield typed
            typed = ""
        elif not typed.strip():
            typed = ""


class Rounds:
    """Writes the report of each round that has news, and a line of progress for every round."""

    def __init__(self, output_options: OutputOptions, write: Callable[[CheckReport, OutputFormat], ExitCode]) -> None:
        self._output_options = output_options
        self._write = write
        self._last: CheckReport | None = None
        self._incomplete = False

    def add(self, report: CheckReport) -> None:
        before = () if self._last is None else _found(self._last)
        self._last = report
        self._incomplete = self._incomplete or report.exit_code is ExitCode.INCOMPLETE
        if _found(report) != before or (report.exit_code and not before):
            self._write(report, self._output_options.output)
        if not self._output_options.quiet:
            write_stderr(scrub(_line(report)))

    @property
    def exit_code(self) -> ExitCode:
        """The last round's code: failures stay until they are gone. No later round checks what one missed."""
        if self._last is None:
            return ExitCode.INTERRUPTED
        return self._last.exit_code or ExitCode.of_work(incomplete=self._incomplete)


def _found(report: CheckReport) -> tuple[Failure, ...]:
    """The failures without their time: one that is still there is not news."""
    return tuple(replace(failure, detected_at=None) for failure in report.failures)


@contextmanager
def reported_end() -> Iterator[None]:
    """Reports the end, which somebody decides here or in another terminal: rounds never end by themselves."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        job = getattr(stopped, "job", None)
        write_stderr(
            f"job {job} has ended; start the command again to continue after the last complete round"
            if job
            else "interrupted"
        )


def forget_changes(context: Context, url: str) -> ExitCode:
    from tieout import api

    tables = api.forget_checked(url, meta=context.meta)
    with result_stream() as stream:
        followed = ", ".join(printable(table) for table in tables)
        stream.write(f"forgotten: {followed}\n" if tables else "no table of this database was followed\n")
    return ExitCode.OK


def _line(report: CheckReport) -> str:
    """The line of progress for one round."""
    ends = ", ".join(sorted({span.upto for span in report.changed}))
    changes = sum(span.changes for span in report.changed)
    return f"{report.verdict}: {plural(changes, 'change')} up to {ends}, {duration(report.seconds)}"
