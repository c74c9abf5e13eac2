"""tieout check"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tieout.cli import options as common
from tieout.cli.interrupts import told_how_to_go_on
from tieout.cli.output import result_stream, say
from tieout.cli.place import Place, place
from tieout.config.secrets import scrub
from tieout.errors import StatementError, UsageError
from tieout.report.errors import error_line
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.model.failures import CheckReport

Url = Annotated[str, typer.Argument(metavar="URL", help="The database: a URL or an endpoint's name.")]
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

_WORST = (1, 3, 0)
"""Exit codes, worst first."""


def check(
    url: Url,
    statement: StatementText = None,
    file: File = None,
    limit: Limit = 1000,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> int:
    """Checks that a database agrees with itself: its indexes, its constraints, its schema, its values."""
    if statement is not None and file is not None:
        raise UsageError("a statement and a file of them are given", "give one of the two")
    here = place(config, meta, master)
    session = _Session(here, here.settings.endpoint(url), limit, output, verbose)
    if statement is None and file is None and sys.stdin is not None and sys.stdin.isatty():
        return _prompt(session)
    codes = [session.run(each) for each in _statements(statement, file)]
    return min(codes, key=_WORST.index, default=0)


class _Session:
    """Statements on one database, one after another, on one Spark."""

    def __init__(self, here: Place, url: str, limit: int, output: OutputFormat, verbose: bool) -> None:
        self._here = here
        self._url = url
        self._limit = limit
        self._output = output
        self._verbose = verbose

    def run(self, statement: str) -> int:
        from tieout import api

        with told_how_to_go_on():
            report = api.check(
                self._url, statement, spark=self._here.spark(self._verbose), meta=self._here.meta, limit=self._limit
            )
        self._tell(report)
        return report.exit_code

    def _tell(self, report: CheckReport) -> None:
        from tieout.report.check import write

        with result_stream() as stream:
            write(report, self._output, stream)


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


def _prompt(session: _Session) -> int:
    """Until the end of input. An error ends a statement, not the prompt; the exit code is the last statement's."""
    code = 0
    for text in _typed():
        try:
            for each in _statements(text, None):
                code = session.run(each)
        except StatementError as error:
            say(scrub(error_line(error)))
            code = 2
    return code


def _typed() -> Iterator[str]:
    """What was typed up to each semicolon."""
    import readline  # noqa: F401 - lines can be edited, and come again

    kept = ""
    while True:
        try:
            line = input("... " if kept else "check> ")
        except EOFError:
            say("")
            return
        if line.strip().lower() in ("exit", "quit", "\\q"):
            return
        kept = f"{kept}\n{line}" if kept else line
        if kept.rstrip().endswith(";"):
            yield kept
            kept = ""
        elif not kept.strip():
            kept = ""
