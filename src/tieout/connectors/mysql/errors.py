"""What the errors of MySQL servers mean to Tieout: one table of codes, and one context manager that applies it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.session import ServerError
from tieout.errors import (
    AccessError,
    BusyError,
    DamagedIndexError,
    EndpointError,
    FullError,
    MissingObjectError,
    ReadError,
    UnreachableError,
)
from tieout.model.server_words import told

NO_SUCH_LOG_POSITION = 1236
SERVER_LOST = 2013
_DAMAGED_INDEX = 1034
_TOO_LONG = 1690

_CHECK_URL = "check host and port in the URL"
_CHECK_LOGIN = "check user and password in the URL"
_TOOK_TOO_LONG = "the statement took too long; give ?statement_timeout= more time"
_NO_SPACE_LEFT = re.compile(r"(?:Errcode: |errno |error )28 .{0,3}No space left on device")
"""The system's error inside the server's message, as MariaDB and MySQL write it."""
_CLIENT_CODES = range(2000, 3000)

VALUE_TOO_LONG = ErrorMeaning(
    ReadError, "if no SQL of yours computes that: a value is too long; raise max_allowed_packet"
)
"""Out of range: the dialect provokes this error for a value that the server's functions cannot render."""
_UNKNOWN = ErrorMeaning()
_OF_THE_DRIVER = ErrorMeaning(inconclusive=True)
_FULL = ErrorMeaning(
    FullError, "make room on the server's disk, then run again: it goes on where it was", inconclusive=True
)
_OUT_OF_MEMORY = ErrorMeaning(busy=True, inconclusive=True)
_READ_ONLY = ErrorMeaning(read_only=True, inconclusive=True)
_GAVE_WAY = ErrorMeaning(busy=True, contention=True, inconclusive=True)
_CANCELLED = ErrorMeaning(ReadError, _TOOK_TOO_LONG, busy=True, inconclusive=True)
_COLLISION = ErrorMeaning(collides=True)
_STRANGER = ErrorMeaning(AccessError, "the server is not who the URL names: check its host, ssl_ca and ssl_mode")
_TEMPORARY_TABLE = ErrorMeaning(ReadError, "the server's tmpdir may be full", inconclusive=True)

MEANINGS: dict[int, ErrorMeaning] = {
    # Privileges.
    1045: ErrorMeaning(AccessError, _CHECK_LOGIN, inconclusive=True),
    1698: ErrorMeaning(AccessError, _CHECK_LOGIN, inconclusive=True),
    1044: ErrorMeaning(AccessError, "GRANT the user access to the database", inconclusive=True),
    1142: ErrorMeaning(AccessError, "GRANT the user SELECT on the table", inconclusive=True),
    1143: ErrorMeaning(AccessError, "GRANT the user SELECT on the column", inconclusive=True),
    1227: ErrorMeaning(AccessError, "the user lacks a privilege", inconclusive=True),
    1370: ErrorMeaning(inconclusive=True),  # EXECUTE denied
    # Objects that are missing.
    1049: ErrorMeaning(MissingObjectError, "check the database name in the URL"),
    1146: ErrorMeaning(MissingObjectError, "check the name, or whether it was dropped meanwhile"),
    1054: ErrorMeaning(MissingObjectError, "check the column's name, or whether it was dropped meanwhile"),
    # No room: on disk, in memory.
    1021: _FULL,
    1114: _FULL,
    1037: _OUT_OF_MEMORY,
    1038: _OUT_OF_MEMORY,
    1041: _OUT_OF_MEMORY,
    # Other transactions, and whoever ends statements.
    1205: ErrorMeaning(
        BusyError,
        "another session holds a lock on it; run again, or give ?lock_timeout= more time",
        busy=True,
        contention=True,
        inconclusive=True,
    ),
    1213: _GAVE_WAY,
    1020: _GAVE_WAY,
    # A snapshot that started before ALTER TABLE cannot read the table any more; a new one can.
    1412: ErrorMeaning(BusyError, "run again: the table was changed while it was read", busy=True, inconclusive=True),
    3572: ErrorMeaning(inconclusive=True),  # NOWAIT, and the row is locked
    1317: ErrorMeaning(busy=True, inconclusive=True),
    1969: _CANCELLED,
    3024: _CANCELLED,
    # Servers and sessions that accept no changes.
    1290: _READ_ONLY,
    1792: _READ_ONLY,
    1836: _READ_ONLY,
    # Values.
    1062: _COLLISION,
    1586: _COLLISION,
    _TOO_LONG: VALUE_TOO_LONG,
    _DAMAGED_INDEX: ErrorMeaning(DamagedIndexError, "CHECK TABLE … INDEX tells more; rebuild the index"),
    # Connections.
    1040: ErrorMeaning(UnreachableError, "the server has no connection free; set ?connections= lower"),
    1053: ErrorMeaning(UnreachableError, "the server is shutting down", resumable=True),
    1927: ErrorMeaning(UnreachableError, "the connection was killed", resumable=True),
    2002: ErrorMeaning(UnreachableError, "is the server running, and is the socket right?"),
    2003: ErrorMeaning(UnreachableError, "is the server running, and are host and port right?"),
    2005: ErrorMeaning(UnreachableError, "check the host in the URL"),
    2006: ErrorMeaning(UnreachableError, "the server closed the connection", resumable=True),
    SERVER_LOST: ErrorMeaning(UnreachableError, "the connection was lost", resumable=True),
}


def meaning_of(code: int, text: str) -> ErrorMeaning:
    """The meaning of an error: by its text only where several errors share a code or have none of their own.

    A text may quote values of users: "Duplicate entry 'No space left on device'" is a collision.
    """
    if code in MEANINGS and code != _DAMAGED_INDEX and code not in _CLIENT_CODES:
        return MEANINGS[code]
    if _NO_SPACE_LEFT.search(text):
        return _FULL
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return _STRANGER
    if code == _DAMAGED_INDEX and "#sql" in text:  # a table that the server made for a sort
        return _TEMPORARY_TABLE
    return MEANINGS.get(code, _UNKNOWN if code else _OF_THE_DRIVER)


def explained(error: Exception, lost: str = _CHECK_URL) -> ServerError:
    """Looks up an error of the driver. `lost` is the hint for an error of the network, which has no code."""
    import pymysql

    if not isinstance(error, pymysql.MySQLError) or isinstance(error, pymysql.err.InterfaceError):
        return ServerError(ErrorMeaning(UnreachableError, lost), told(scrub(str(error)), type(error).__name__))
    code, text = code_of(error), str(error.args[1]) if len(error.args) > 1 else str(error)
    return ServerError(meaning_of(code, text), first_line(code, text))


@contextmanager
def translated(url: EndpointUrl) -> Iterator[None]:
    """Turns errors of a driver's connection inside into a reader's EndpointErrors: one line, no password.

    For what streams from a bare connection; a MySQLSession does this by itself.
    """
    import pymysql

    try:
        yield
    except (pymysql.MySQLError, OSError, UnicodeError) as error:
        meaning, said = explained(error)
        raise meaning.for_reader(f"{url.redacted()}: {said}") from None


def code_of(error: Exception) -> int:
    """The server's code of a driver error; 0 if it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def first_line(code: int, text: str) -> str:
    """The first line of the server's message. While values are hidden: its safe beginning, and the code."""
    line = scrub(text).strip().splitlines()[0] if text.strip() else f"error {code}"
    return told(line, code or None)


def translate(url: EndpointUrl, code: int, text: str) -> EndpointError:
    """A server's error as a reader's."""
    return meaning_of(code, text).for_reader(f"{url.redacted()}: {first_line(code, text)}")


class DriverPanic(Exception):
    """The Arrow driver met a value that it cannot represent and gave up."""


def is_too_long(text: str) -> bool:
    """Whether connectorx reports a value or a row that is longer than the server's max_allowed_packet."""
    return f"ERROR {_TOO_LONG} " in text or "larger than max_allowed_packet" in text


def translate_arrow(url: EndpointUrl, text: str) -> EndpointError:
    """The EndpointError for an error of connectorx, which has a text and no code."""
    found = re.search(r"ERROR (\d+) \(\w+\): (.*?)(?:\s*}\)*)?\s*$", text, re.DOTALL)
    if found:
        return translate(url, int(found[1]), found[2])
    lowered = text.lower()
    if any(word in lowered for word in ("connection", "broken pipe", "ioerror", "timed out", "unexpected eof")):
        return translate(url, SERVER_LOST, text)
    return ReadError(f"{url.redacted()}: {told(scrub(text).splitlines()[0]) if text else 'unknown error'}")
