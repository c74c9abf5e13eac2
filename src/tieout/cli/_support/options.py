"""The options that every command has, and those that several have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tieout.config.durations import parse_duration, seconds_text
from tieout.model.defaults import RECHECK_AFTER, RECHECK_TIMES
from tieout.report.render import OutputFormat

_COMMON = "Everywhere"

Output = Annotated[
    OutputFormat, typer.Option("--output", "-o", help="The form of the result.", rich_help_panel=_COMMON)
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The configuration; ./tieout.yaml unless given.", rich_help_panel=_COMMON
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Tell no progress.", rich_help_panel=_COMMON)]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show Spark's log, and tracebacks of crashes.", rich_help_panel=_COMMON)
]
Meta = Annotated[
    str | None,
    typer.Option(
        "--meta",
        metavar="URL",
        help="The meta store; that of the configuration unless given.",
        rich_help_panel=_COMMON,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[2], yarn, spark://host:7077.",
        rich_help_panel=_COMMON,
    ),
]
MovingTask = Annotated[str, typer.Argument(metavar="TASK", help="A task of the configuration.", show_default=False)]


HOW = "How"


def option(name: str, words: str, **more: Any) -> Any:
    return typer.Option(name, help=words, rich_help_panel=HOW, **more)


def time_option(name: str, words: str, parser: Callable[[str], float] = parse_duration) -> Any:
    return option(name, words, metavar="TIME", parser=parser)


def number_option(name: str, words: str, least: int = 1) -> Any:
    return option(name, words, metavar="N", min=least)


def max_rows_per_second(words: str) -> Any:
    return number_option("--max-rows-per-second", f"How fast to read at most, {words}.")


def recheck_after(what: str) -> Any:
    words = f"How long to wait before {what} is looked at again ({seconds_text(RECHECK_AFTER)}s unless given)."
    return time_option("--recheck-after", words)


def recheck_times(least: int, until: str = "") -> Any:
    words = f"How often it is looked at again{until} ({RECHECK_TIMES} times unless given)."
    return number_option("--recheck-times", words, least)


def redact_values() -> Any:
    return typer.Option(
        "--redact-values/--no-redact-values",
        help="Keep values of rows out of reports, logs and the meta store: keys and hashes remain.",
        rich_help_panel=HOW,
        show_default=False,
    )


def resume(what: str) -> Any:
    return option("--resume", f"Go on with {what} that was interrupted, paused or failed.", metavar="JOB")
