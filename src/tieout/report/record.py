"""One thing with named values (a job, a version): text, JSON, or a CSV of one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from rich.text import Text

from tieout.errors import UsageError
from tieout.report.alignment import aligned
from tieout.report.json import json_text
from tieout.report.listing import shown_value, write_listing
from tieout.report.palette import HEADING
from tieout.report.render import OutputFormat
from tieout.report.terminal import console_on, write_lines


def write_record(values: Mapping[str, object], format: OutputFormat, stream: TextIO) -> None:
    """A line for each value that there is, or an object with all of them."""
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
