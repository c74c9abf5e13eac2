"""Writes a verification in any format."""

from __future__ import annotations

from enum import StrEnum
from io import StringIO
from typing import TextIO

from tieout.model.results import VerificationResult


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
    JUNIT = "junit"
    HTML = "html"


def write(result: VerificationResult, format: OutputFormat, stream: TextIO, explain: bool = False) -> None:
    """Writes the report, last line end included. `explain` adds the explanations to text, and to nothing else.

    The stream should take every character (UTF-8); HTML and JUnit say in their head that they are UTF-8.
    """
    # Each format is imported when it is used: a line of JSON needs no template engine.
    match format:
        case OutputFormat.TEXT:
            from tieout.report import text

            text.write(result, stream, explain)
        case OutputFormat.JSON:
            from tieout.report import json

            json.write(result, stream)
        case OutputFormat.NDJSON:
            from tieout.report import json

            json.write_ndjson(result, stream)
        case OutputFormat.CSV:
            from tieout.report import csv

            csv.write(result, stream)
        case OutputFormat.JUNIT:
            from tieout.report import junit

            junit.write(result, stream)
        case OutputFormat.HTML:
            from tieout.report import html

            html.write(result, stream)


def render(result: VerificationResult, format: OutputFormat, explain: bool = False) -> str:
    """The report as a string, without colours."""
    stream = StringIO()
    write(result, format, stream, explain)
    return stream.getvalue()
