"""Messages of servers, drivers and Spark, without values of rows.

Any message may contain a value: a server quotes in its own language, and users' functions raise what they like. So
while values are hidden, Tieout shows only what is known to be safe: a code, and beginnings from a fixed list. It
decides that where a message comes in; later the message is part of our own, and cannot be separated.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

REDACTED = "(the message is redacted)"

_BEGINNINGS = (
    # PostgreSQL
    "invalid input syntax for type integer:",
    "invalid input syntax for type bigint:",
    "invalid input syntax for type numeric:",
    "invalid input syntax for type double precision:",
    "invalid input syntax for type date:",
    "invalid input syntax for type timestamp:",
    "invalid input syntax for type timestamp with time zone:",
    "invalid input syntax for type uuid:",
    "invalid input syntax for type json",
    "invalid byte sequence for encoding",
    "division by zero",
    "integer out of range",
    "bigint out of range",
    "numeric field overflow",
    "value too long for type",
    "null value in column",
    "duplicate key value violates unique constraint",
    "canceling statement due to statement timeout",
    "canceling statement due to lock timeout",
    "deadlock detected",
    "permission denied for table",
    "permission denied for schema",
    "permission denied for function",
    "password authentication failed for user",
    "terminating connection due to",
    "server closed the connection unexpectedly",
    "connection to server",
    "the connection is lost",
    # MySQL and MariaDB
    "Access denied for user",
    "Can't connect to MySQL server on",
    "Lost connection to MySQL server during query",
    "MySQL server has gone away",
    "Lock wait timeout exceeded; try restarting transaction",
    "Deadlock found when trying to get lock; try restarting transaction",
    "Data too long for column",
    "Out of range value for column",
    "Data truncated for column",
    "Incorrect integer value:",
    "Incorrect decimal value:",
    "Incorrect date value:",
    "Incorrect datetime value:",
    "Incorrect string value:",
    "Truncated incorrect",
    "Duplicate entry",
    "Division by 0",
    "Unknown column",
    "Too many connections",
    # SQLite
    "malformed database schema",
    "database disk image is malformed",
    "file is not a database",
    "unable to open database file",
    "database is locked",
    "database or disk is full",
    "disk I/O error",
    "attempt to write a readonly database",
    "no such table:",
    "no such column:",
    "no such function:",
    "no such collation sequence:",
    "UNIQUE constraint failed:",
    "NOT NULL constraint failed:",
    "CHECK constraint failed:",
    "FOREIGN KEY constraint failed",
)

_lock = threading.Lock()
_asked = 0


def are_hidden() -> bool:
    """Whether a job of this process hides values. For the process, not a thread: jobs start threads of their own."""
    return _asked > 0


@contextmanager
def hidden(wanted: bool = True) -> Iterator[None]:
    """Hides values in messages of servers and drivers inside the block."""
    global _asked  # noqa: PLW0603 - of a process
    with _lock:
        _asked += wanted
    try:
        yield
    finally:
        with _lock:
            _asked -= wanted


def told(text: str, code: object = None) -> str:
    """A server's message as it may be shown. `code` can't contain a value: an error's number, or its class."""
    if not are_hidden():
        return text
    known = max((words for words in _BEGINNINGS if text.startswith(words)), key=len, default=None)
    shown = REDACTED if known is None else known if text.strip() == known else f"{known} ***"
    return shown if code is None or code == "" else f"[{code}] {shown}"


def told_of(error: Exception) -> str:
    """An exception's message as it may be shown, for those that have no code."""
    return told(str(error), type(error).__name__)
