"""Rows of plain values (jobs, failures, schedules) as a list: text, JSON, lines of JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TextIO

from rich.text import Text

from tieout.errors import UsageError
from tieout.report.alignment import aligned
from tieout.report.csv import csv_field, csv_line
from tieout.report.json import json_text
from tieout.report.palette import HEADING
from tieout.report.printable import one_line
from tieout.report.render import OutputFormat
from tieout.report.terminal import console_on, write_lines

Row = Mapping[str, object]
"""The values of a row: text, numbers, booleans, dates and times, or None."""


def write_listing(columns: Sequence[str], rows: Iterable[Row], format: OutputFormat, stream: TextIO) -> None:
    """The named columns of each row, in order; what a row lacks is None."""
    picked = [{name: row.get(name) for name in columns} for row in rows]
    match format:
        case OutputFormat.TEXT:
            _write_text(columns, picked, stream)
        case OutputFormat.JSON:
            stream.write(json_text(picked, indent=2) + "\n")
        case OutputFormat.NDJSON:
            stream.writelines(json_text(row) + "\n" for row in picked)
        case OutputFormat.CSV:
            stream.write(csv_line(columns))
            stream.writelines(csv_line([csv_field(_exact(value)) for value in row.values()]) for row in picked)
        case _:
            raise UsageError(f"a list can't be written as {format}", "use --output text, json, ndjson or csv")


def _write_text(columns: Sequence[str], rows: Sequence[Row], stream: TextIO) -> None:
    if not rows:
        stream.write("none\n")
        return
    numeric = {index for index, name in enumerate(columns) if all(_is_number(row[name]) for row in rows)}
    heading = [Text(one_line(name.replace("_", " ")), HEADING) for name in columns]
    cells = [[Text(shown_value(value)) for value in row.values()] for row in rows]
    write_lines(aligned([heading, *cells], numeric), console_on(stream))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def shown_value(value: object) -> str:
    """A value as people read it in a list."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case _:
            return one_line(str(value)) or "''"


def _exact(value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case date():
            return value.isoformat()
        case _:
            return str(value)
