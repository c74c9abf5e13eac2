"""The options of `tieout check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tieout.config.durations import parse_duration
from tieout.model.statements import EngineChecker

_HOW = "How"

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
        help="How long --follow rests between two rounds (10s unless given).",
    ),
]
Forget = Annotated[
    bool,
    typer.Option("--forget", help="Drop what CHANGED keeps at the database (slots, triggers) and what it knows of it."),
]
MaxRowsPerSecond = Annotated[
    int | None,
    typer.Option(
        "--max-rows-per-second", metavar="N", min=1, help="How fast to read at most, all in all.", rich_help_panel=_HOW
    ),
]
Pause = Annotated[
    float | None,
    typer.Option(
        "--pause",
        metavar="TIME",
        parser=parse_duration,
        rich_help_panel=_HOW,
        help="How long to rest between two batches (not at all unless given).",
    ),
]
RecheckAfter = Annotated[
    float | None,
    typer.Option(
        "--recheck-after",
        metavar="TIME",
        parser=parse_duration,
        rich_help_panel=_HOW,
        help="How long to wait before what seems wrong is looked at again (2s unless given).",
    ),
]
RecheckTimes = Annotated[
    int | None,
    typer.Option(
        "--recheck-times",
        metavar="N",
        min=1,
        help="How often it is looked at again, until two looks agree (3 times unless given).",
        rich_help_panel=_HOW,
    ),
]
EngineCheckerOption = Annotated[
    EngineChecker | None,
    typer.Option(
        "--engine-checker",
        show_default=False,
        rich_help_panel=_HOW,
        help="The engine's own checker: safe (unless given), where it only reads; extended, also where it marks what it"
        " finds as corrupted; none.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="JOB",
        help="Go on with a check that was interrupted, paused or failed.",
        rich_help_panel=_HOW,
    ),
]
