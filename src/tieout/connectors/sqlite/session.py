"""Connections to SQLite files, for reading only."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from tieout.config.urls import EndpointUrl


def connect(url: EndpointUrl, *, writable: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode. Text that is no UTF-8 keeps its bytes, escaped."""
    path = Path(url.path or "").absolute()
    mode = "rw" if writable else "ro"
    # An endpoint is opened in one thread and used in another, by one at a time.
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}", uri=True, isolation_level=None, timeout=10, check_same_thread=False
    )
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
