"""A snapshot that one connection exports and holds, so that several connections see the same moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect, libpq_url
from tieout.connectors.postgres.errors import translated
from tieout.connectors.sql.connection_cache import lease

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The session that holds the snapshot is idle for as long as others read.
_IDLE = {"idle_in_transaction_session_timeout": "0"}


class ExportedSnapshot:
    """Held from the first call of `name` until `release_snapshot`. The next call of `name` exports another one."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        self._connection: Any = None
        self._name = ""

    def name(self) -> str:
        if self._connection is None:
            with translated(self._url), ExitStack() as opened:
                connection = opened.enter_context(closing(connect(self._url, "tieout driver", _IDLE)))
                connection.execute(_BEGIN)
                (self._name,) = connection.execute("SELECT pg_export_snapshot()").fetchone()
                opened.pop_all()
                self._connection = connection
        return self._name

    def release_snapshot(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


@contextmanager
def cursor_at(url: EndpointUrl, snapshot: str | None, settings: Mapping[str, str], *, arrow: bool) -> Iterator[Any]:
    """A cursor that sees the snapshot of this name, or the present if that is None, in a session with these settings.

    It returns Arrow batches, or psycopg's rows.
    """
    address = libpq_url(url, "tieout executor", settings)

    def connected() -> Any:
        if not arrow:
            return connect(url, "tieout executor", settings)
        from tieout.connectors.postgres.arrow import ArrowConnection

        return ArrowConnection(address)

    with translated(url), lease((arrow, address), connected) as connection, connection.cursor() as cursor:
        if snapshot is None:
            yield cursor
            return
        cursor.execute(_BEGIN)
        cursor.execute(f"SET TRANSACTION SNAPSHOT {quoting.text(snapshot)}")
        yield cursor
        cursor.execute("COMMIT")
