"""Puts quotes around names, texts and bytes in SQLite's SQL; nothing else does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tieout.errors import UnsupportedError
from tieout.model.tables import TableName

_CONTROL = re.compile(r"[\0-\x1f\x7f]")


def name(text: str) -> str:
    if "\0" in text:
        raise UnsupportedError(f"SQLite allows no NUL in a name: {text[:60]!r}")
    return '"' + text.replace('"', '""') + '"'


def table(full: TableName) -> str:
    return f"{name(full.schema)}.{name(full.name)}"


def names(texts: Iterable[str]) -> str:
    return ", ".join(map(name, texts))


def text(value: str) -> str:
    """Hexadecimal where necessary: a NUL would end the statement, and a line end would end a line of a file."""
    raw = value.encode()
    return coded_text(raw) if _CONTROL.search(value) else "'" + value.replace("'", "''") + "'"


def coded_text(raw: bytes) -> str:
    """A text literal from bytes, whether they are valid text or not."""
    return f"CAST({octets(raw)} AS TEXT)"


def octets(value: bytes) -> str:
    return f"X'{value.hex()}'"
