"""PostgreSQL's errors as ours: one table by SQLSTATE, and one by words for errors that come without a SQLSTATE.

`translated` is the only place that turns an error of a driver into one of ours. What it becomes depends on who asks:
see the faces READER, MOVER, REPAIR, SLOT and LOG.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.errors import (
    AccessError,
    BusyError,
    EndpointError,
    FullError,
    LogLostError,
    MissingObjectError,
    UnreachableError,
)
from tieout.model.server_words import are_hidden, told

_LOGIN = ErrorMeaning(AccessError, "check user and password in the URL")
_NO_DATABASE = ErrorMeaning(MissingObjectError, "check the database name in the URL")
_NO_OBJECT = ErrorMeaning(MissingObjectError, "check the names, or whether it was dropped meanwhile")
_NO_HOST = ErrorMeaning(UnreachableError, "check the host in the URL")
_CLOSED = ErrorMeaning(UnreachableError, "the server closed the connection", resumable=True)
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
"""By SQLSTATE or the beginning of one; the longest that fits counts."""

_UNKNOWN_SERVER = ErrorMeaning(
    AccessError, "the server is not who the URL names: check its host, sslrootcert and sslmode"
)

_BY_WORDS: Mapping[str, ErrorMeaning] = {
    "requested a cleartext password": ErrorMeaning(
        AccessError, "connect by TLS that checks the server: sslmode=verify-full and sslrootcert=FILE (or system)"
    ),
    "certificate verify failed": _UNKNOWN_SERVER,
    "does not match host name": _UNKNOWN_SERVER,
    "root certificate file": ErrorMeaning(
        AccessError, "give the authority to trust: sslrootcert=FILE, or sslrootcert=system"
    ),
    "password authentication failed": _LOGIN,
    "no password supplied": ErrorMeaning(AccessError, "give a password in the URL, e.g. ${PGPASSWORD}"),
    "no pg_hba.conf entry": ErrorMeaning(
        AccessError, "the server does not let this user in from here: see its pg_hba.conf"
    ),
    "does not exist": _NO_DATABASE,
    "due to lock timeout": _LOCKED,
    "due to statement timeout": ErrorMeaning(hint="give ?statement_timeout= more time"),
    "translate host name": _NO_HOST,
    "resolve host": _NO_HOST,
    "Connection refused": ErrorMeaning(UnreachableError, "is the server running, and is the port right?"),
    "timeout": ErrorMeaning(UnreachableError, "the server did not answer in time"),
    "terminating connection": _CLOSED,
    "closed the connection": _CLOSED,
    "connection": ErrorMeaning(UnreachableError, "check host and port in the URL"),
}
"""For libpq at login, and for Arrow in the middle of a stream; the first words that fit count."""

SLOT_IN_USE = "55006"
SLOT_REFUSES = "55000"
"""The slot was invalidated, belongs to another database, or would move backwards."""
UNDEFINED_OBJECT = "42704"
DUPLICATE_OBJECT = "42710"

CONNECTION_ENDED = ("08", "57P")
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
_OF_SLOTS: Mapping[str, ErrorMeaning] = {
    SLOT_IN_USE: ErrorMeaning(BusyError, "end the other reader, or wait for it and try again"),
    "42501": ErrorMeaning(
        AccessError, "the user needs REPLICATION, CREATE on the database, and to own the tables that are followed"
    ),
}
_OF_LOGS: Mapping[str, ErrorMeaning] = {
    **_OF_SLOTS,
    UNDEFINED_OBJECT: _LOG_LOST,
    SLOT_REFUSES: _LOG_LOST,
    "58P01": _LOG_LOST,  # a segment of the log was removed
}

_NOT_FOUND = ("42883", "42P01", UNDEFINED_OBJECT, "3F000")
_OWN_PATH = "give the function a search_path of its own: ALTER FUNCTION … SET search_path = …"
_REPAIR_GRANT = "GRANT the user SELECT, INSERT, UPDATE and DELETE on the tables to be repaired"
_STATE = re.compile(r"SQLSTATE:? ?([0-9A-Z]{5})\b")
_SHORTEST = 2


def meaning_of(state: str | None) -> ErrorMeaning:
    for length in range(len(state or ""), _SHORTEST - 1, -1):
        if (found := _BY_STATE.get(str(state)[:length])) is not None:
            return found
    return ErrorMeaning()


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error as a server or a driver reports it. `context`: in which function, for example."""

    url: EndpointUrl
    text: str
    state: str | None = None
    context: str = ""

    @property
    def line(self) -> str:
        return first_line(self.text, self.state)

    @property
    def message(self) -> str:
        return f"{self.url.redacted()}: {self.line}"

    @property
    def meaning(self) -> ErrorMeaning:
        if self.state:
            return meaning_of(self.state)
        return next((meaning for words, meaning in _BY_WORDS.items() if words in self.text), ErrorMeaning())

    @property
    def name_not_found_in_function(self) -> EndpointError | None:
        """A user's function does not find what it names: in our sessions its search_path is pg_catalog alone."""
        if self.state not in _NOT_FOUND or " function " not in self.context:
            return None
        place = "a function" if are_hidden() else first_line(self.context)  # it may be a statement, with values
        return MissingObjectError(f"{self.message}, in {place}", _OWN_PATH)


@dataclass(frozen=True)
class Face:
    """What one kind of connection makes of errors. `own` rows come before those of the common table."""

    error: Callable[[ServerError], Exception]
    own: Mapping[str, ErrorMeaning] = field(default_factory=dict)

    def of(self, found: ServerError) -> Exception:
        own = self.own.get(found.state or "")
        return own.for_reader(found.message) if own is not None else self.error(found)


def _for_reader(found: ServerError) -> Exception:
    return found.name_not_found_in_function or found.meaning.for_reader(found.message)


def _for_mover(found: ServerError) -> Exception:
    return found.name_not_found_in_function or found.meaning.for_mover(found.message)


def _for_repair(found: ServerError) -> Exception:
    return found.meaning.for_repair(found.message, found.line, grant=_REPAIR_GRANT)


READER = Face(_for_reader)
MOVER = Face(_for_mover)
REPAIR = Face(_for_repair)
SLOT = Face(_for_reader, _OF_SLOTS)
"""For whoever makes and drops slots: BusyError if the slot is in use."""
LOG = Face(_for_reader, _OF_LOGS)
"""For whoever reads a slot: also LogLostError if slot, publication or log are gone."""


@contextmanager
def translated(url: EndpointUrl, face: Face = READER, connection: Any = None) -> Iterator[None]:
    """Driver errors inside become ours: one line, no password.

    `connection`: the statements inside go through it alone. An error that leaves it closed, or comes without a
    SQLSTATE, means that it was lost; errors that are not psycopg's have nothing to do with it.
    """
    import adbc_driver_manager
    import psycopg

    try:
        yield
    except (psycopg.Error, adbc_driver_manager.Error) as error:
        context = getattr(getattr(error, "diag", None), "context", None)
        found = ServerError(url, str(error), getattr(error, "sqlstate", None), str(context or ""))
        if connection is not None and (found.state is None or connection.closed):
            raise UnreachableError(found.message, _CLOSED.hint) from None
        raise face.of(found) from None
    except (OSError, pa.ArrowException) as error:
        if connection is not None:
            raise
        # What goes wrong in the middle of a stream comes through Arrow, which knows no SQLSTATE.
        raise face.of(ServerError(url, str(error))) from None
    except UnicodeError:
        if connection is not None:
            raise
        # A host name that can't be encoded never reaches the resolver.
        raise UnreachableError(f"{url.redacted()}: no such host", _NO_HOST.hint) from None


def first_line(text: str, state: str | None = None) -> str:
    """What the server says, without its details. While values are hidden, what is safe of it, and the SQLSTATE."""
    return told(plain_line(text), _named(state, text) if are_hidden() else None)


def _named(state: str | None, text: str) -> str | None:
    """The SQLSTATE with its name, if there is such a one: whoever raises an error may make up its SQLSTATE, too."""
    from psycopg.errors import lookup

    if state is None and (found := _STATE.search(text)):
        state = found[1]
    try:
        return f"{state} {lookup(state).__name__}" if state else None
    except KeyError:
        return None


def plain_line(text: str) -> str:
    """What the server says of definitions, in which there are no rows."""
    line = scrub(text).strip().splitlines()[0] if text.strip() else "unknown error"
    for noise in ("ERROR:", "FATAL:", "connection failed:"):
        line = line.split(noise, 1)[-1].strip() if noise in line else line
    return line
