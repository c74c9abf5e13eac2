"""Turns SQLite's errors into ours: one table, by SQLite's codes.

An error's text holds names and words of users (a CHECK may be called `locked_rows`, a trigger may raise "busy"), so
only the beginning of a text is compared, and only where SQLite has no code of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from tieout.config.urls import EndpointUrl
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.session import ServerError
from tieout.errors import AccessError, FullError, MissingObjectError, ReadError, UnreachableError
from tieout.model.server_words import told

MALFORMED = "malformed database schema"
"""The error for a definition that SQLite does not understand. It then reads no other definition of the file either."""

MAY_WRITE = "let this user write to the file and to its directory"

_CHECK_NAME = "check the name, or whether it was dropped meanwhile"

_LOCKED = ErrorMeaning(
    UnreachableError, "another process holds the file; try again", contention=True, inconclusive=True
)
_COLLISION = ErrorMeaning(collides=True)
_BY_CODE = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_READONLY: ErrorMeaning(AccessError, MAY_WRITE, inconclusive=True),
    sqlite3.SQLITE_INTERRUPT: ErrorMeaning(inconclusive=True),
    sqlite3.SQLITE_IOERR: ErrorMeaning(inconclusive=True, fatal=True),
    sqlite3.SQLITE_CORRUPT: ErrorMeaning(
        ReadError, "the file is damaged: run PRAGMA integrity_check", inconclusive=True, fatal=True
    ),
    sqlite3.SQLITE_FULL: ErrorMeaning(
        FullError, "free up disk space, then run again: the job continues where it stopped", inconclusive=True
    ),
    sqlite3.SQLITE_CANTOPEN: ErrorMeaning(
        MissingObjectError, "check the path in the URL, and that the file can be read"
    ),
    sqlite3.SQLITE_NOTADB: ErrorMeaning(ReadError, "the file is not an SQLite database", fatal=True),
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: _COLLISION,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY: _COLLISION,
    sqlite3.SQLITE_CONSTRAINT_ROWID: _COLLISION,
}
"""By extended code, or else by primary code."""

OF_APPLICATION = ErrorMeaning(inconclusive=True)
"""For functions, collations and modules that an application adds to its own connections."""

_BY_BEGINNING = (
    (MALFORMED, ErrorMeaning(ReadError, "a definition in the file is wrong: CHECK DATABASE names it", fatal=True)),
    ("no such table", ErrorMeaning(MissingObjectError, _CHECK_NAME)),
    ("no such column", ErrorMeaning(MissingObjectError, _CHECK_NAME)),
    ("no such function", OF_APPLICATION),
    ("unknown function", OF_APPLICATION),
    ("no such collation sequence", OF_APPLICATION),
    ("no such module", OF_APPLICATION),
    # Raised by Python itself, without a code.
    ("Cannot operate on a closed database", ErrorMeaning(fatal=True)),
)
_GENERIC = (None, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT)
"""Codes that several errors share: their texts tell them apart."""


@contextmanager
def translated(url: EndpointUrl) -> Iterator[None]:
    """Turns the driver's errors inside the block into EndpointErrors, as readers see them."""
    try:
        yield
    except sqlite3.Error as error:
        meaning, said = explain(error)
        raise meaning.for_reader(f"{url.redacted()}: {said}") from None


def explain(error: Exception) -> ServerError:
    return ServerError(_meaning(error), told(str(error), error_name(error)))


def _meaning(error: Exception) -> ErrorMeaning:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in _GENERIC:
        text = str(error)
        for beginning, meaning in _BY_BEGINNING:
            if text.startswith(beginning):
                return meaning
    return _BY_CODE.get(code or 0) or _BY_CODE.get(primary or 0) or ErrorMeaning()


def error_name(error: Exception) -> str | None:
    """SQLite's own name of the error, such as SQLITE_BUSY."""
    return getattr(error, "sqlite_errorname", None)
