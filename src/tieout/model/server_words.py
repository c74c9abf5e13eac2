"""Messages of servers, drivers and Spark, without values of rows.

Any message may contain a value: a server quotes values in its own language, and users' functions raise any text. So
while values are hidden, Tieout shows only what is known to contain none: a code, and known beginnings of messages.
It decides that where a message comes in. Further on it is part of our own text, and nobody can tell them apart.
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
    """Whether a job of this process hides values. Of a process, not of a thread: jobs work in threads of their own."""
    return _asked > 0


@contextmanager
def hidden(wanted: bool = True) -> Iterator[None]:
    """Inside the block, messages of servers, drivers and Spark are shown without values."""
    global _asked  # noqa: PLW0603 - of a process
    with _lock:
        _asked += wanted
    try:
        yield
    finally:
        with _lock:
            _asked -= wanted


def told(text: str, code: object = None) -> str:
    """The part of a server's message that may be shown. `code` contains no value: an error's number, or its class."""
    if not are_hidden():
        return text
    known = max((words for words in _BEGINNINGS if text.startswith(words)), key=len, default=None)
    shown = REDACTED if known is None else known if text.strip() == known else f"{known} ***"
    return shown if code is None or code == "" else f"[{code}] {shown}"


def told_of(error: Exception) -> str:
    """The part of an exception's message that may be shown, for exceptions without a code."""
    return told(str(error), type(error).__name__)
