"""Connections to DuckDB files. Several processes may read a file, or one may write to it.

Each connection opens an empty database in memory and attaches the file: the name of the database, which DuckDB takes
from the file's name, can't clash with a schema in it then.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.duckdb import quoting
from tieout.connectors.duckdb.errors import is_in_use
from tieout.errors import MissingObjectError

FILE = "tieout_file"
"""The name of the attached file in our sessions."""

WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.1

_SETTINGS = (
    f"USE {FILE}",
    "SET TimeZone = 'UTC'",
    # Otherwise a name in a user's condition could refer to one of our Python variables.
    "SET python_enable_replacements = false",
)

_WRITING: dict[str, Any] = {}
"""This process's writing connections, by path. DuckDB opens a file once in a process, so readers use them too."""


def connect(url: EndpointUrl, *, writable: bool = False, wait_seconds: float = WAIT_SECONDS) -> Any:
    """Returns a connection in autocommit mode. Waits while another process has the file open."""
    path = str(Path(url.path or "").absolute())
    if (writer := _WRITING.get(path)) is not None and not writable:
        return _set_up(writer.cursor())
    connection = _attached(path, writable, wait_seconds)
    if writable:
        _WRITING[path] = connection
    return connection


def close_writer(url: EndpointUrl, connection: Any) -> None:
    _WRITING.pop(str(Path(url.path or "").absolute()), None)
    connection.close()


def _attached(path: str, writable: bool, wait_seconds: float) -> Any:
    import duckdb

    if not Path(path).exists():  # a writer would create it
        raise MissingObjectError(f"there is no file {path}", "check the path in the URL")
    until = time.monotonic() + wait_seconds
    while True:
        connection = duckdb.connect(":memory:")
        try:
            options = "TYPE duckdb" if writable else "TYPE duckdb, READ_ONLY"
            connection.execute(f"ATTACH {quoting.text(path)} AS {FILE} ({options})")
            # A file may come from anybody: its views and defaults must not reach anything outside of it.
            connection.execute("SET enable_external_access = false")
            return _set_up(connection)
        except BaseException as error:
            connection.close()
            if not isinstance(error, duckdb.Error) or not is_in_use(error) or time.monotonic() > until:
                raise
        time.sleep(_POLL_SECONDS)


def _set_up(connection: Any) -> Any:
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection
