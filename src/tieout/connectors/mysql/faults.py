"""MySQL's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from tieout.config.secrets import scrub
from tieout.config.urls import EndpointUrl
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

_NO_ROOM = "No space left on device"
_MAKE_ROOM = "make room on the server's disk, then run again: it goes on where it was"
_DAMAGED = 1034
TOO_LONG = 1690
"""What the dialect makes the server say of a value that its functions can't render: a number is out of range."""

_BY_CODE: dict[int, tuple[type[EndpointError], str]] = {
    1045: (AccessError, "check user and password in the URL"),
    1698: (AccessError, "check user and password in the URL"),
    1044: (AccessError, "GRANT the user access to the database"),
    1142: (AccessError, "GRANT the user SELECT on the table"),
    1143: (AccessError, "GRANT the user SELECT on the column"),
    1227: (AccessError, "the user lacks a privilege"),
    1049: (MissingObjectError, "check the database name in the URL"),
    1146: (MissingObjectError, "check the name, or whether it was dropped meanwhile"),
    1054: (MissingObjectError, "check the column's name, or whether it was dropped meanwhile"),
    1021: (FullError, _MAKE_ROOM),
    1114: (FullError, _MAKE_ROOM),
    # A view that was begun before the table got its new form can't be read any more; a new one can.
    1412: (BusyError, "run again: the table was changed while it was read"),
    1205: (BusyError, "another session holds a lock on it; run again, or give ?lock_timeout= more time"),
    _DAMAGED: (DamagedIndexError, "CHECK TABLE … INDEX tells more; rebuild the index"),
    TOO_LONG: (ReadError, "if no SQL of yours computes that: a value is too long; raise max_allowed_packet"),
    1969: (ReadError, "the statement took too long; give ?statement_timeout= more time"),
    3024: (ReadError, "the statement took too long; give ?statement_timeout= more time"),
    1040: (UnreachableError, "the server has no connection free; set ?connections= lower"),
    1053: (UnreachableError, "the server is shutting down; run again with --resume"),
    1927: (UnreachableError, "the connection was killed; run again with --resume"),
    2002: (UnreachableError, "is the server running, and is the socket right?"),
    2003: (UnreachableError, "is the server running, and are host and port right?"),
    2005: (UnreachableError, "check the host in the URL"),
    2006: (UnreachableError, "the server closed the connection; run again with --resume"),
    2013: (UnreachableError, "the connection was lost; run again with --resume"),
}


class DriverPanic(Exception):
    """The Arrow driver met a value that it can't represent and gave up."""


@contextmanager
def translated(url: EndpointUrl) -> Iterator[None]:
    """Driver errors inside become EndpointErrors: one line, no password."""
    import pymysql

    try:
        yield
    except pymysql.MySQLError as error:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        text = str(error.args[1]) if len(error.args) > 1 else str(error)
        raise translate(url, code, text) from None
    except (OSError, UnicodeError) as error:
        raise UnreachableError(f"{url.redacted()}: {lost(error)}", "check host and port in the URL") from None


def translate(url: EndpointUrl, code: int, text: str) -> EndpointError:
    kind, hint = _BY_CODE.get(code, (ReadError, None))
    if code == _DAMAGED and "#sql" in text:  # of the server's own, for a sort
        kind, hint = ReadError, "the server's tmpdir may be full"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        kind, hint = AccessError, "the server is not who the URL names: check its host, ssl_ca and ssl_mode"
    if _NO_ROOM in text:
        kind, hint = FullError, _MAKE_ROOM
    return kind(f"{url.redacted()}: {first_line(code, text)}", hint)


def first_line(code: int, text: str) -> str:
    """What the server says. While values are hidden, what is safe of it, and the error's number."""
    line = scrub(text).strip().splitlines()[0] if text.strip() else f"error {code}"
    return told(line, code or None)


def lost(error: Exception) -> str:
    """What the driver or the system says of a connection."""
    return told(scrub(str(error)), type(error).__name__)


def is_too_long(text: str) -> bool:
    """Whether connectorx says that a value or a row is longer than the server's max_allowed_packet."""
    return f"ERROR {TOO_LONG} " in text or "larger than max_allowed_packet" in text


def translate_arrow(url: EndpointUrl, text: str) -> EndpointError:
    """An error of connectorx, which has only words."""
    found = re.search(r"ERROR (\d+) \(\w+\): (.*?)(?:\s*}\)*)?\s*$", text, re.DOTALL)
    if found:
        return translate(url, int(found[1]), found[2])
    lowered = text.lower()
    if any(word in lowered for word in ("connection", "broken pipe", "ioerror", "timed out", "unexpected eof")):
        return translate(url, 2013, text)
    return ReadError(f"{url.redacted()}: {told(scrub(text).splitlines()[0]) if text else 'unknown error'}")
