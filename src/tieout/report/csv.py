"""The differences as CSV: table, kind, key, column, source, target, copies.

A changed row has a line for each changed column. A missing or extra row has one line, with column, source and target
empty. The key is a JSON object of canonical text. NULL is \\N; text that would read as NULL (backslashes and an
N) has one backslash more. Every other value stands exactly as it is: one that begins with = + - or @ is a formula to
a spreadsheet, so import such a file as text. (A lone surrogate, which no encoding can hold, becomes U+FFFD.)
Tables that could not be verified have no line here: the exit code shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from tieout.model.differences import Difference
from tieout.model.results import VerificationResult
from tieout.report.json import json_text

HEADER = ("table", "kind", "key", "column", "source", "target", "copies")
NULL = "\\N"

_NEEDS_QUOTES = re.compile('[",\r\n]')
_LIKE_NULL = re.compile(r"\\+N")
_SURROGATE = re.compile("[\ud800-\udfff]")


def write(result: VerificationResult, stream: TextIO) -> None:
    stream.write(csv_line(HEADER))
    for difference in result.differences:
        stream.writelines(map(csv_line, _rows(difference)))


def csv_line(fields: Sequence[str]) -> str:
    """The fields as a line. (Python's own writer, set to end lines with \\n, leaves a lone \\r without quotes.)"""
    if len(fields) == 1 and not fields[0]:
        return '""\n'  # most readers skip an empty line
    return ",".join(_quoted(field) if _NEEDS_QUOTES.search(field) else field for field in fields) + "\n"


def csv_field(value: str | None) -> str:
    """A value as a field; `csv_value` reads it back."""
    if value is None:
        return NULL
    value = _SURROGATE.sub("\ufffd", value)
    return f"\\{value}" if _LIKE_NULL.fullmatch(value) else value


def csv_value(field: str) -> str | None:
    """The value of a field."""
    if field == NULL:
        return None
    return field[1:] if _LIKE_NULL.fullmatch(field) else field


def _quoted(field: str) -> str:
    doubled = field.replace('"', '""')
    return f'"{doubled}"'


def _rows(difference: Difference) -> Iterator[tuple[str, ...]]:
    table, kind = csv_field(difference.table), difference.kind.value
    key, copies = json_text(dict(difference.key)), str(difference.copies)
    if not difference.columns:
        yield table, kind, key, "", "", "", copies
    for name, pair in difference.columns.items():
        yield table, kind, key, csv_field(name), csv_field(pair.source), csv_field(pair.target), copies
