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
    OutputFormat, typer.Option("--output", "-o", help="The format of the result.", rich_help_panel=_COMMON)
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The configuration file (default: ./tieout.yaml).", rich_help_panel=_COMMON
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.", rich_help_panel=_COMMON)]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show Spark's log, and tracebacks of crashes.", rich_help_panel=_COMMON)
]
Meta = Annotated[
    str | None,
    typer.Option(
        "--meta",
        metavar="URL",
        help="The meta store (default: the one of the configuration).",
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
    return number_option("--max-rows-per-second", f"Read at most this many rows per second, {words}.")


def recheck_after(what: str) -> Any:
    words = f"How long to wait before rechecking {what} (default: {seconds_text(RECHECK_AFTER)}s)."
    return time_option("--recheck-after", words)


def recheck_times(least: int, until: str = "") -> Any:
    words = f"How many times to recheck it{until} (default: {RECHECK_TIMES})."
    return number_option("--recheck-times", words, least)


def redact_values() -> Any:
    return typer.Option(
        "--redact-values/--no-redact-values",
        help="Keep row values out of reports, logs and the meta store; keys and hashes remain.",
        rich_help_panel=HOW,
        show_default=False,
    )


def resume(what: str) -> Any:
    return option("--resume", f"Resume {what} that was interrupted, paused or failed.", metavar="JOB")
