"""Connections to SQLite files, for reading unless asked for more."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from tieout.config.urls import EndpointUrl

IS_TEXT = "tieout_is_text"
"""A function of every connection: whether bytes are text in an encoding that Python knows."""


def connect(url: EndpointUrl, *, writable: bool = False, wait_seconds: float = 10) -> sqlite3.Connection:
    """A connection in autocommit mode that waits so long for others. Text that is no UTF-8 keeps its bytes, escaped."""
    path = Path(url.path or "").absolute()
    if not writable and Path(f"{path}-journal").exists():
        _recover(path, wait_seconds)
    connection = _open(path, "rw" if writable else "ro", wait_seconds)
    # A file may come from anybody: what its views and triggers call has no effect beyond the file.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = _text
    connection.create_function(IS_TEXT, 2, _is_text, deterministic=True)
    return connection


def _open(path: Path, mode: str, wait_seconds: float) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode={mode}"
    # An endpoint is opened in one thread and used in another, by one at a time.
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=wait_seconds, check_same_thread=False)


def _recover(path: Path, wait_seconds: float) -> None:
    """What a writer left that was killed has to be taken back first, and who only reads can't."""
    with suppress(sqlite3.Error), closing(_open(path, "rw", wait_seconds)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _is_text(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
