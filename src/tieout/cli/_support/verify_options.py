"""The options of `tieout verify`. An option that the user leaves out is None: the task or the default decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tieout.cli._support import options as how
from tieout.config.durations import parse_positive_duration, seconds_text
from tieout.model.requests import VerifyOptions

_DEFAULTS = VerifyOptions()
_WHICH, _ROWS, _WHAT = "Which tables", "Which rows and columns", "What to do with the result"

Task = Annotated[str | None, typer.Argument(metavar="TASK", help="A task of tieout.yaml.", show_default=False)]
Source = Annotated[
    str | None,
    typer.Option("--source", metavar="URL", help="The source: a URL or an endpoint's name.", rich_help_panel=_WHICH),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="URL", help="The target: a URL or an endpoint's name.", rich_help_panel=_WHICH),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        "-t",
        metavar="T|A=B",
        help="A table, a pattern (shop.*), or source=target if names differ. May be repeated (default: all tables).",
        rich_help_panel=_WHICH,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="T", help="A table or pattern to leave out.", rich_help_panel=_WHICH),
]

Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="SQL",
        help="Only these rows, on both sides, in each engine's own SQL; with TASK, only these of the task's.",
        rich_help_panel=_ROWS,
    ),
]
SourceWhere = Annotated[
    str | None,
    typer.Option(
        "--source-where",
        metavar="SQL",
        help="Only these rows of the source, in its engine's SQL.",
        rich_help_panel=_ROWS,
    ),
]
TargetWhere = Annotated[
    str | None,
    typer.Option(
        "--target-where",
        metavar="SQL",
        help="Only these rows of the target, in its engine's SQL.",
        rich_help_panel=_ROWS,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="A,B",
        help="The columns that identify a row (default: the primary key).",
        rich_help_panel=_ROWS,
    ),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="A,B", help="Only these columns.", rich_help_panel=_ROWS)
]
ExcludeColumns = Annotated[
    str | None, typer.Option("--exclude-columns", metavar="A,B", help="Leave these columns out.", rich_help_panel=_ROWS)
]
Tolerances = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="COL=X",
        help="How far apart numbers may be: price=0.01, or 'ratio=1e-9 relative'. May be repeated.",
        rich_help_panel=_ROWS,
    ),
]
Expressions = Annotated[
    list[str] | None,
    typer.Option(
        "--expr",
        metavar="COL=SQL|SQL",
        help="SQL that computes a column on the source and on the target; a side left empty takes the column itself.",
        rich_help_panel=_ROWS,
    ),
]

StrategyName = Annotated[
    Literal["auto", "native", "pushdown", "pull"] | None,
    how.option("--strategy", "Where to hash rows; auto picks what fits and costs least."),
]
HashBits = Annotated[
    Literal["64", "128"] | None,
    how.option("--hash-bits", f"Bits of the engine's own hash (default: {_DEFAULTS.hash_bits}); pull always uses 128."),
]
CountsOnly = Annotated[bool, how.option("--counts-only", "Compare only the numbers of rows.")]
ExactScale = Annotated[bool, how.option("--exact-scale", "Treat 1.0 and 1.00 as different.")]
ChunkSeconds = Annotated[
    float | None,
    how.time_option(
        "--chunk-seconds",
        f"How long reading a chunk should take (default: {seconds_text(_DEFAULTS.chunk_seconds)}s).",
        parse_positive_duration,
    ),
]
ChunkRows = Annotated[int | None, how.number_option("--chunk-rows", "Rows in a chunk, instead of --chunk-seconds.")]
MaxRowsPerSecond = Annotated[int | None, how.max_rows_per_second("each side")]
RecheckAfter = Annotated[float | None, how.recheck_after("a difference in a live table")]
RecheckTimes = Annotated[int | None, how.recheck_times(0)]
RedactValues = Annotated[bool | None, how.redact_values()]
Resume = Annotated[str | None, how.resume("a job")]

Limit = Annotated[
    str | None,
    typer.Option(
        "--limit",
        metavar="N|none",
        help=f"List at most this many differences (default: {_DEFAULTS.limit}); counts stay exact.",
        rich_help_panel=_WHAT,
    ),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Show what would be compared, how and why; read no rows.", rich_help_panel=_WHAT),
]
RepairSql = Annotated[
    Path | None,
    typer.Option(
        "--repair-sql",
        metavar="FILE",
        help="Write SQL statements that make the target equal to the source.",
        rich_help_panel=_WHAT,
    ),
]
