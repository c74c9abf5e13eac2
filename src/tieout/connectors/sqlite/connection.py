"""Connections to SQLite files, for reading unless the caller asks for more."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from tieout.config.urls import EndpointUrl

IS_TEXT = "tieout_is_text"
"""A function of every connection: true if bytes are text in an encoding that Python knows."""


def connect(url: EndpointUrl, *, writable: bool = False, wait_seconds: float = 10) -> sqlite3.Connection:
    """A connection in autocommit mode that waits this long for locks. It keeps the bytes of text that is not UTF-8,
    escaped.
    """
    path = Path(url.path or "").absolute()
    if not writable and Path(f"{path}-journal").exists():
        _recover(path, wait_seconds)
    connection = _open(path, "rw" if writable else "ro", wait_seconds)
    # A file may come from anybody: functions that its views and triggers call have no effect beyond the file.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = _text
    connection.create_function(IS_TEXT, 2, _is_text, deterministic=True)
    return connection


def _open(path: Path, mode: str, wait_seconds: float) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode={mode}"
    # One thread opens an endpoint and another uses it, but never two at a time.
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=wait_seconds, check_same_thread=False)


def _recover(path: Path, wait_seconds: float) -> None:
    """Rolls back what a killed writer left unfinished, which a connection for reading can't do."""
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
