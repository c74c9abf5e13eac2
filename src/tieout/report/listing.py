"""Lists and records as text, JSON, lines of JSON or CSV, and the console that reports and progress share.

The console colours what we colour and interprets nothing; colours only repeat what the words say. In text, cells are
aligned in columns by the width that a terminal gives them. No rules, no boxes: grep and awk work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tieout.errors import UsageError
from tieout.model.differences import DifferenceKind
from tieout.model.results import Verdict
from tieout.report.csv import csv_field, csv_line
from tieout.report.json import json_text
from tieout.report.printable import one_line
from tieout.report.render import OutputFormat

VERDICT = {Verdict.EQUAL: "green", Verdict.DIFFERENT: "bold red", Verdict.UNVERIFIED: "bold yellow"}
KIND = {DifferenceKind.MISSING: "red", DifferenceKind.EXTRA: "magenta", DifferenceKind.CHANGED: "yellow"}
HEADING = "bold"
FAINT = "dim"


def verdict_text(verdict: Verdict) -> Text:
    return Text(verdict.value, VERDICT[verdict])


def console_on(stream: TextIO) -> Console:
    """A console that knows whether the stream is a terminal, its width, and whether it has colours (NO_COLOR, TERM)."""
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, force_jupyter=False)


def write_lines(lines: Iterable[Text], console: Console) -> None:
    """One line each, with colours if the console has them; nothing is wrapped or truncated."""
    for line in lines:
        if console.color_system is None:
            console.file.write(f"{line.plain}\n")  # a hundred times faster than asking the console
        else:
            console.print(line)


_GAP = "  "


def aligned(rows: Sequence[Sequence[Text]], right: Collection[int] = (), indent: str = "") -> list[Text]:
    """A line for each row; the columns of `right` are flush right. Nothing is truncated; no line ends in spaces."""
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    return [_line(row, widths, right, indent) for row in rows]


def _line(row: Sequence[Text], widths: Sequence[int], right: Collection[int], indent: str) -> Text:
    line = Text(indent)
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        padding = " " * (width - cell.cell_len)
        if index:
            line.append(_GAP)
        line.append_text(Text(padding) + cell if index in right else cell + Text(padding))
    line.rstrip()
    return line


def write_record(values: Mapping[str, object], format: OutputFormat, stream: TextIO) -> None:
    """A line for each value that is not None, or an object with all values."""
    match format:
        case OutputFormat.TEXT:
            lines = [
                [Text(name.replace("_", " "), HEADING), Text(shown_value(value))]
                for name, value in values.items()
                if value is not None
            ]
            write_lines(aligned(lines) if lines else (), console_on(stream))
        case OutputFormat.JSON:
            stream.write(json_text(dict(values), indent=2) + "\n")
        case OutputFormat.NDJSON | OutputFormat.CSV:
            write_listing(tuple(values), [values], format, stream)
        case _:
            raise UsageError(f"this can't be written as {format}", "use --output text, json, ndjson or csv")


Row = Mapping[str, object]
"""The values of a row: text, numbers, booleans, dates and times, or None."""


def write_listing(columns: Sequence[str], rows: Iterable[Row], format: OutputFormat, stream: TextIO) -> None:
    """The named columns of each row, in order; a column that a row lacks is None."""
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
