"""The only place that puts quotes around what stands in DuckDB's SQL: names, texts, bytes."""

from __future__ import annotations

import re

from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

_CONTROL = re.compile(r"[\0-\x1f\x7f]")


def name(text: str) -> str:
    if "\0" in text:
        raise UnsupportedError(f"DuckDB takes no NUL in a name: {text[:60]!r}")
    return '"' + text.replace('"', '""') + '"'


def table(full: TableName) -> str:
    return f"{name(full.schema)}.{name(full.name)}"


def text(value: str) -> str:
    """From bytes where it has to be: the parser refuses a NUL, and a line end would end the line of a file."""
    if _CONTROL.search(value):
        return f"decode({octets(value.encode())})"
    return "'" + value.replace("'", "''") + "'"


def octets(value: bytes) -> str:
    return f"from_hex('{value.hex()}')"
