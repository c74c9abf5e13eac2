"""Connections to DuckDB files. A file has several readers or one writer, counted by process.

Each connection is to an empty database in memory, to which the file is attached: the file's own name for itself then
clashes with no schema in it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.duckdb import quoting
from tieout.connectors.duckdb.errors import is_in_use
from tieout.errors import MissingObjectError, UnsupportedError

FILE = "tieout_file"
"""What our sessions call the file."""

WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.1

_SETTINGS = (
    f"USE {FILE}",
    "SET TimeZone = 'UTC'",
    # A name in a user's condition would otherwise mean a variable of ours.
    "SET python_enable_replacements = false",
)

_WRITING: dict[str, Any] = {}
"""Connections of this process that write, by path. DuckDB opens a file once in a process: readers go through these."""


def connect(url: EndpointUrl, *, writable: bool = False, wait_seconds: float = WAIT_SECONDS) -> Any:
    """A connection in autocommit mode. Waits for another process that has the file open."""
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


def check_driver() -> None:
    """UnsupportedError that names what to install."""
    try:
        import duckdb  # noqa: F401
    except ModuleNotFoundError:
        raise UnsupportedError("duckdb:// needs the driver of DuckDB", "pip install 'tieout[duckdb]'") from None


def _attached(path: str, writable: bool, wait_seconds: float) -> Any:
    import duckdb

    if not Path(path).exists():  # a writer would make it
        raise MissingObjectError(f"there is no file {path}", "check the path in the URL")
    until = time.monotonic() + wait_seconds
    while True:
        connection = duckdb.connect(":memory:")
        try:
            options = "TYPE duckdb" if writable else "TYPE duckdb, READ_ONLY"
            connection.execute(f"ATTACH {quoting.text(path)} AS {FILE} ({options})")
            # A file may come from anybody: what its views and defaults call has no effect beyond the file.
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
