"""PostgreSQL's errors as ours: one table by SQLSTATE, and one by words for errors that come without a SQLSTATE.

`translated` turns driver errors into EndpointErrors for readers; a PostgresSession does so for its purpose, by the same
tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.session import ServerError
from tieout.errors import (
    AccessError,
    BusyError,
    FullError,
    LogLostError,
    MissingObjectError,
    UnreachableError,
)
from tieout.model.server_words import are_hidden, told

_LOGIN = ErrorMeaning(AccessError, "check user and password in the URL")
_NO_DATABASE = ErrorMeaning(MissingObjectError, "check the database name in the URL")
_NO_OBJECT = ErrorMeaning(MissingObjectError, "check the name; the object may have been dropped meanwhile")
_NO_HOST = ErrorMeaning(UnreachableError, "check the host in the URL")
CLOSED = ErrorMeaning(UnreachableError, "the server closed the connection", resumable=True)
_ENDED = ErrorMeaning(UnreachableError, "the server closed or refused the connection", resumable=True)
_CONTENDED = ErrorMeaning(busy=True, contention=True, inconclusive=True)
_SHORT_OF_MEMORY = ErrorMeaning(busy=True, inconclusive=True)
_COLLIDES = ErrorMeaning(collides=True)
_INCONCLUSIVE = ErrorMeaning(inconclusive=True)
_LOCKED = ErrorMeaning(
    BusyError,
    "another session holds a lock on it; run again, or give ?lock_timeout= more time",
    busy=True,
    contention=True,
    inconclusive=True,
)

_BY_STATE: Mapping[str, ErrorMeaning] = {
    "08": _ENDED,
    "23505": _COLLIDES,
    "23P01": _COLLIDES,
    "25006": ErrorMeaning(read_only=True, inconclusive=True),
    "28": _LOGIN,
    "3D000": _NO_DATABASE,
    "3F000": _NO_OBJECT,
    "40": _INCONCLUSIVE,
    "40001": _CONTENDED,
    "40P01": _CONTENDED,
    "42501": ErrorMeaning(AccessError, "GRANT the user SELECT on the tables to be read", inconclusive=True),
    "42703": _NO_OBJECT,
    "42P01": _NO_OBJECT,
    "53": _INCONCLUSIVE,
    "53000": _SHORT_OF_MEMORY,
    "53100": ErrorMeaning(
        FullError, "make room on the server's disk, then run again: it goes on where it was", inconclusive=True
    ),
    "53200": _SHORT_OF_MEMORY,
    "53300": ErrorMeaning(_ENDED.error, _ENDED.hint, resumable=True, inconclusive=True),
    "53400": _SHORT_OF_MEMORY,
    "55P03": _LOCKED,
    "57014": ErrorMeaning(
        hint="the statement took too long, or was cancelled; give ?statement_timeout= more time",
        busy=True,
        inconclusive=True,
    ),
    "57P": _ENDED,
    "58": _INCONCLUSIVE,
    # Pages that can't be read: other checks are about these.
    "XX001": _INCONCLUSIVE,
    "XX002": _INCONCLUSIVE,
}
"""By SQLSTATE or its beginning; the longest match counts."""

_UNKNOWN_SERVER = ErrorMeaning(
    AccessError, "the server's certificate does not match the URL: check host, sslrootcert and sslmode"
)

_BY_WORDS: Mapping[str, ErrorMeaning] = {
    "requested a cleartext password": ErrorMeaning(
        AccessError, "connect by TLS and verify the server: sslmode=verify-full and sslrootcert=FILE (or system)"
    ),
    "certificate verify failed": _UNKNOWN_SERVER,
    "does not match host name": _UNKNOWN_SERVER,
    "root certificate file": ErrorMeaning(
        AccessError, "name the authority to trust: sslrootcert=FILE, or sslrootcert=system"
    ),
    "password authentication failed": _LOGIN,
    "no password supplied": ErrorMeaning(AccessError, "give a password in the URL, e.g. ${PGPASSWORD}"),
    "no pg_hba.conf entry": ErrorMeaning(
        AccessError, "the server's pg_hba.conf does not admit this user from this host"
    ),
    "does not exist": _NO_DATABASE,
    "due to lock timeout": _LOCKED,
    "due to statement timeout": ErrorMeaning(hint="give ?statement_timeout= more time"),
    "translate host name": _NO_HOST,
    "resolve host": _NO_HOST,
    "Connection refused": ErrorMeaning(UnreachableError, "is the server running, and is the port right?"),
    "timeout": ErrorMeaning(UnreachableError, "the server did not answer in time"),
    "terminating connection": CLOSED,
    "closed the connection": CLOSED,
    "connection": ErrorMeaning(UnreachableError, "check host and port in the URL"),
}
"""For libpq at login, and for Arrow in the middle of a stream; the first match counts."""

SLOT_IN_USE = "55006"
SLOT_REFUSES = "55000"
"""The slot was invalidated, belongs to another database, or would move backwards."""
UNDEFINED_OBJECT = "42704"
DUPLICATE_OBJECT = "42710"

ENDED_FROM_OUTSIDE = ("08", "57")
"""The connection is gone, or somebody cancelled the statement."""
MADE_BY_A_VALUE = ("22", "23", "2F", "38", "39", "54", "P0", "XX")
"""Classes of errors that a value can cause when a statement reads it."""
DAMAGE = ("XX", "22")
"""Classes of errors by which amcheck reports corrupt data and impossible values."""
DOES_NOT_FIT = ("22", "23")
"""Classes of errors for a value that is not one of its column's type, or that a constraint forbids."""
INVALID_ENCODING = "22021"
DATETIME_OUT_OF_RANGE = "22008"

START_OVER = "changes are lost: drop the task, empty its tables and start over"
_LOG_LOST = ErrorMeaning(LogLostError, START_OVER)
NO_ROWS: Mapping[str, ErrorMeaning] = {}
OF_SLOTS: Mapping[str, ErrorMeaning] = {
    SLOT_IN_USE: ErrorMeaning(BusyError, "end the other reader, or wait for it and try again"),
    "42501": ErrorMeaning(
        AccessError, "the user needs REPLICATION, CREATE on the database, and to own the tables that are followed"
    ),
}
"""For whoever creates and drops slots: BusyError if another connection uses the slot."""
OF_LOGS: Mapping[str, ErrorMeaning] = {
    **OF_SLOTS,
    UNDEFINED_OBJECT: _LOG_LOST,
    SLOT_REFUSES: _LOG_LOST,
    "58P01": _LOG_LOST,  # a segment of the log was removed
}
"""For whoever reads a slot: also LogLostError if slot, publication or log are gone."""

_NOT_FOUND = ("42883", "42P01", UNDEFINED_OBJECT, "3F000")
_OWN_PATH = "give the function a search_path of its own: ALTER FUNCTION … SET search_path = …"
REPAIR_GRANT = "GRANT the user SELECT, INSERT, UPDATE and DELETE on the tables to be repaired"
_STATE = re.compile(r"SQLSTATE:? ?([0-9A-Z]{5})\b")
_SHORTEST = 2


def meaning_of(state: str | None) -> ErrorMeaning:
    for length in range(len(state or ""), _SHORTEST - 1, -1):
        if (found := _BY_STATE.get(str(state)[:length])) is not None:
            return found
    return ErrorMeaning()


def explain(
    error: Exception, rows: Mapping[str, ErrorMeaning] = NO_ROWS, *, functions_have_our_path: bool = True
) -> ServerError:
    """Looks up an error of psycopg, ADBC, Arrow or the network. `rows` come before those of the common table.

    In our sessions the search_path is pg_catalog alone, so a user's function may not find what it names. This has a
    hint of its own, unless the function runs with the user's search_path.
    """
    text = str(error)
    state: str | None = getattr(error, "sqlstate", None)
    line = first_line(text, state)
    if state is not None and state in rows:
        return ServerError(rows[state], line)
    context = str(getattr(getattr(error, "diag", None), "context", None) or "")
    if functions_have_our_path and state in _NOT_FOUND and " function " in context:
        place = "a function" if are_hidden() else first_line(context)  # it may be a statement, with values
        return ServerError(ErrorMeaning(MissingObjectError, _OWN_PATH, inconclusive=True), f"{line}, in {place}")
    return ServerError(meaning_of(state) if state else _meaning_of_words(text), line)


@contextmanager
def translated(url: EndpointUrl, rows: Mapping[str, ErrorMeaning] = NO_ROWS) -> Iterator[None]:
    """Turns driver errors inside the block into EndpointErrors for readers: one line, no password.

    `rows` say what some errors mean here: see OF_SLOTS and OF_LOGS.
    """
    import adbc_driver_manager
    import psycopg
    import pyarrow as pa

    try:
        yield
    except (psycopg.Error, adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
        meaning, said = explain(error, rows)
        raise meaning.for_reader(f"{url.redacted()}: {said}") from None
    except UnicodeError:
        # A host name that can't be encoded never reaches the resolver.
        raise _NO_HOST.for_reader(f"{url.redacted()}: no such host") from None


def _meaning_of_words(text: str) -> ErrorMeaning:
    return next((meaning for words, meaning in _BY_WORDS.items() if words in text), ErrorMeaning())


def first_line(text: str, state: str | None = None) -> str:
    """The first line of the server's message. While values are hidden: its safe beginning, and the SQLSTATE."""
    return told(plain_line(text), _named(state, text) if are_hidden() else None)


def _named(state: str | None, text: str) -> str | None:
    """The SQLSTATE with its name, if it has one: a function may raise an error with any SQLSTATE."""
    from psycopg.errors import lookup

    if state is None and (found := _STATE.search(text)):
        state = found[1]
    try:
        return f"{state} {lookup(state).__name__}" if state else None
    except KeyError:
        return None


def plain_line(text: str) -> str:
    """The first line of a message about a definition, which contains no values of rows."""
    line = scrub(text).strip().splitlines()[0] if text.strip() else "unknown error"
    for noise in ("ERROR:", "FATAL:", "connection failed:"):
        line = line.split(noise, 1)[-1].strip() if noise in line else line
    return line
