"""The options that every command has, and those that several have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
