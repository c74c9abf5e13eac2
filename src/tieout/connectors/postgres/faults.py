"""PostgreSQL's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
from tieout.errors import (
    AccessError,
    BusyError,
    EndpointError,
    FullError,
    MissingObjectError,
    ReadError,
    UnreachableError,
)
from tieout.model.server_words import are_hidden, told

_LOCKED = "another session holds a lock on it; run again, or give ?lock_timeout= more time"

_STATE = re.compile(r"SQLSTATE:? ?([0-9A-Z]{5})\b")
_NOT_FOUND = ("42883", "42P01", "42704", "3F000")
_OWN_PATH = "give the function a search_path of its own: ALTER FUNCTION … SET search_path = …"

_HINTS: list[tuple[tuple[str, ...], type[EndpointError], str]] = [
    (("28",), AccessError, "check user and password in the URL"),
    (("42501",), AccessError, "GRANT the user SELECT on the tables to be read"),
    (("3D000",), MissingObjectError, "check the database name in the URL"),
    (("42P01", "42703", "3F000"), MissingObjectError, "check the names, or whether it was dropped meanwhile"),
    (("55P03",), BusyError, _LOCKED),
    (("57014",), ReadError, "the statement took too long, or was cancelled; give ?statement_timeout= more time"),
    (("53100",), FullError, "make room on the server's disk, then run again: it goes on where it was"),
    (("08", "57P", "53300"), UnreachableError, "the server closed or refused the connection; run again with --resume"),
]

_UNKNOWN_SERVER = "the server is not who the URL names: check its host, sslrootcert and sslmode"

_WORDS: list[tuple[str, type[EndpointError], str]] = [
    (
        "requested a cleartext password",
        AccessError,
        "connect by TLS that checks the server: sslmode=verify-full and sslrootcert=FILE (or system)",
    ),
    ("certificate verify failed", AccessError, _UNKNOWN_SERVER),
    ("does not match host name", AccessError, _UNKNOWN_SERVER),
    ("root certificate file", AccessError, "give the authority to trust: sslrootcert=FILE, or sslrootcert=system"),
    ("password authentication failed", AccessError, "check user and password in the URL"),
    ("no password supplied", AccessError, "give a password in the URL, e.g. ${PGPASSWORD}"),
    ("no pg_hba.conf entry", AccessError, "the server does not let this user in from here: see its pg_hba.conf"),
    ("does not exist", MissingObjectError, "check the database name in the URL"),
    (
        "due to lock timeout",
        BusyError,
        "another session holds a lock on it; run again, or give ?lock_timeout= more time",
    ),
    ("due to statement timeout", ReadError, "give ?statement_timeout= more time"),
    ("translate host name", UnreachableError, "check the host in the URL"),
    ("resolve host", UnreachableError, "check the host in the URL"),
    ("Connection refused", UnreachableError, "is the server running, and is the port right?"),
    ("timeout", UnreachableError, "the server did not answer in time"),
    ("terminating connection", UnreachableError, "the server closed the connection; run again with --resume"),
    ("closed the connection", UnreachableError, "the server closed the connection; run again with --resume"),
    ("connection", UnreachableError, "check host and port in the URL"),
]


@contextmanager
def translated(url: EndpointUrl) -> Iterator[None]:
    """Driver errors inside become EndpointErrors: one line, no password."""
    import adbc_driver_manager
    import psycopg

    try:
        yield
    except (psycopg.Error, adbc_driver_manager.Error) as error:
        raise lost_in_function(url, error) or translate(url, str(error), getattr(error, "sqlstate", None)) from None
    except (OSError, pa.ArrowException) as error:
        # What goes wrong in the middle of a stream comes through Arrow, which knows no SQLSTATE.
        raise translate(url, str(error), None) from None
    except UnicodeError:
        # A host name that can't be encoded never reaches the resolver.
        raise UnreachableError(f"{url.redacted()}: no such host", "check the host in the URL") from None


def lost_in_function(url: EndpointUrl, error: Exception) -> EndpointError | None:
    """Of a function of users that does not find what it names: in our sessions it has no schema but pg_catalog."""
    diagnosis = getattr(error, "diag", None)
    where = str(getattr(diagnosis, "context", None) or "")
    state = getattr(error, "sqlstate", None)
    if state not in _NOT_FOUND or " function " not in where:
        return None
    place = "a function" if are_hidden() else first_line(where)  # it may be a statement, with values
    return MissingObjectError(f"{url.redacted()}: {first_line(str(error), state)}, in {place}", _OWN_PATH)


def translate(url: EndpointUrl, text: str, state: str | None) -> EndpointError:
    where = f"{url.redacted()}: {first_line(text, state)}"
    if state:
        for prefixes, kind, hint in _HINTS:
            if state.startswith(prefixes):
                return kind(where, hint)
        return ReadError(where)
    for words, kind, hint in _WORDS:
        if words in text:
            return kind(where, hint)
    return ReadError(where)


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
