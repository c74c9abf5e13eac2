"""One moment of a database that several connections see: a snapshot that is held for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.kept import lease
from tieout.connectors.postgres.faults import translated
from tieout.connectors.postgres.session import connect, libpq_url

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The session that holds a snapshot does nothing else, for as long as others read.
_IDLE = {"idle_in_transaction_session_timeout": "0"}


class Moment:
    """Held from when it is first asked for until `close`."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        self._connection: Any = None
        self._name = ""

    def name(self) -> str:
        if self._connection is None:
            with translated(self._url):
                self._connection = connect(self._url, "tieout driver", _IDLE)
                self._connection.execute(_BEGIN)
                self._name = str(self._connection.execute("SELECT pg_export_snapshot()").fetchone()[0])
        return self._name

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


@contextmanager
def cursor_at(url: EndpointUrl, moment: str | None, settings: Mapping[str, str], *, arrow: bool) -> Iterator[Any]:
    """A cursor that sees the moment, or the present if that is None; in a session with these settings.

    It hands out Arrow, or rows as psycopg makes them.
    """
    address = libpq_url(url, "tieout executor", settings)

    def connected() -> Any:
        if not arrow:
            return connect(url, "tieout executor", settings)
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(address, autocommit=True)

    with translated(url), lease((arrow, address), connected) as connection, connection.cursor() as cursor:
        if moment is None:
            yield cursor
            return
        cursor.execute(_BEGIN)
        cursor.execute(f"SET TRANSACTION SNAPSHOT '{moment}'")
        yield cursor
        cursor.execute("COMMIT")
