"""The options of `tieout check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tieout.cli import how_options as how
from tieout.config.durations import parse_duration, seconds_text
from tieout.model.check_statements import EngineChecker
from tieout.model.defaults import FOLLOW_EVERY

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
MaxRowsPerSecond = Annotated[int | None, how.max_rows_per_second("all in all")]
Pause = Annotated[
    float | None, how.time_option("--pause", "How long to rest between two batches (not at all unless given).")
]
RecheckAfter = Annotated[float | None, how.recheck_after("what seems wrong")]
RecheckTimes = Annotated[int | None, how.recheck_times(1, ", until two or three looks agree")]
EngineCheckerOption = Annotated[
    EngineChecker | None,
    how.option(
        "--engine-checker",
        "The engine's own checker: safe (unless given), where it only reads; extended, also where it marks what it"
        " finds as corrupted; none.",
        show_default=False,
    ),
]
RedactValues = Annotated[bool | None, how.redact_values()]
Resume = Annotated[str | None, how.resume("a check")]
