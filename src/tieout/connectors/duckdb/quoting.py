"""The only file that quotes names, texts and bytes for DuckDB's SQL."""

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
    """Writes text with control characters as bytes: DuckDB refuses a NUL, and a statement of a file is one line."""
    if _CONTROL.search(value):
        return f"decode({octets(value.encode())})"
    return "'" + value.replace("'", "''") + "'"


def octets(value: bytes) -> str:
    return f"from_hex('{value.hex()}')"
