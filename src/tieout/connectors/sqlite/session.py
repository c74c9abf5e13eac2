"""Connections to SQLite files, for reading unless asked for more."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from tieout.config.urls import EndpointUrl


def connect(url: EndpointUrl, *, writable: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode. Text that is no UTF-8 keeps its bytes, escaped."""
    path = Path(url.path or "").absolute()
    if not writable and Path(f"{path}-journal").exists():
        _recover(path)
    connection = _open(path, "rw" if writable else "ro")
    connection.text_factory = _text
    return connection


def _open(path: Path, mode: str) -> sqlite3.Connection:
    # An endpoint is opened in one thread and used in another, by one at a time.
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}", uri=True, isolation_level=None, timeout=10, check_same_thread=False
    )


def _recover(path: Path) -> None:
    """What a writer left that was killed has to be taken back first, and who only reads can't."""
    with suppress(sqlite3.Error), closing(_open(path, "rw")) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
