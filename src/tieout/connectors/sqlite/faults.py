"""SQLite's errors as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from tieout.config.urls import EndpointUrl
from tieout.errors import EndpointError, MissingObjectError, ReadError, UnreachableError
from tieout.model.server_words import told

MALFORMED = "malformed database schema"
"""One definition that SQLite does not understand, and it reads none."""

_WORDS: list[tuple[str, type[EndpointError], str | None]] = [
    (MALFORMED, ReadError, "a definition in the file is wrong: CHECK DATABASE says which"),
    ("unable to open", MissingObjectError, "check the path in the URL, and that the file can be read"),
    ("no such table", MissingObjectError, "check the name, or whether it was dropped meanwhile"),
    ("no such column", MissingObjectError, "check the name, or whether it was dropped meanwhile"),
    ("not a database", ReadError, "the file is not an SQLite database"),
    ("locked", UnreachableError, "another process holds the file; try again"),
    ("malformed", ReadError, "the file is damaged: run PRAGMA integrity_check"),
]


@contextmanager
def translated(url: EndpointUrl) -> Iterator[None]:
    """Driver errors inside become EndpointErrors."""
    try:
        yield
    except sqlite3.Error as error:
        text, said = str(error), told(str(error), error_name(error))
        for words, kind, hint in _WORDS:
            if words in text:
                raise kind(f"{url.redacted()}: {said}", hint) from None
        raise ReadError(f"{url.redacted()}: {said}") from None


def error_name(error: sqlite3.Error) -> str | None:
    """SQLite's own name of the error, such as SQLITE_BUSY."""
    return getattr(error, "sqlite_errorname", None)
